package bus

import (
	"cmp"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/pkg/next/nqueensv1"

	"nqueens/pkg/queens"
)

// FromWorker is a message of a worker: a work request or a delivery.
type FromWorker struct {
	Request  *queens.WorkRequest
	Delivery *queens.Delivery
}

// DecodeFromWorker returns a message of a worker. The error wraps a [VersionError] if the worker has another version.
func DecodeFromWorker(data []byte) (FromWorker, error) {
	var m nqueensv1.FromWorker
	if err := unmarshal(data, MaxFromWorker, &m); err != nil {
		return FromWorker{}, err
	}
	switch request, delivery := m.GetRequest(), m.GetDelivery(); {
	case request != nil && delivery == nil:
		r, err := decodeRequest(request)
		return FromWorker{Request: r}, err
	case delivery != nil && request == nil && len(data) <= MaxDelivery:
		d, err := decodeDelivery(delivery)
		return FromWorker{Delivery: d}, err
	}
	return FromWorker{}, fmt.Errorf("a message of %d bytes that is neither a work request nor a delivery", len(data))
}

// EncodeRequest encodes a work request.
func EncodeRequest(r *queens.WorkRequest) ([]byte, error) {
	m := &nqueensv1.WorkRequest{
		Number: r.Number, Version: queens.SanitizeName(r.Version), Kernel: r.Kernel, Threads: uint32(r.Threads),
		Searchers: uint32(r.Searchers), Want: uint32(r.Want), Leaving: r.Leaving,
	}
	for _, h := range r.Held {
		m.Held = append(m.Held, &nqueensv1.Held{First: h.First, Tasks: h.Tasks, Ticket: h.Ticket[:], Searched: uint64(h.Searched)})
	}
	return proto.Marshal(&nqueensv1.FromWorker{Protocol: Protocol, Request: m})
}

func decodeRequest(m *nqueensv1.WorkRequest) (*queens.WorkRequest, error) {
	r := &queens.WorkRequest{
		Number: m.GetNumber(), Version: m.GetVersion(), Kernel: m.GetKernel(), Threads: int(m.GetThreads()),
		Searchers: int(m.GetSearchers()), Want: int(m.GetWant()), Leaving: m.GetLeaving(), Held: make([]queens.Held, len(m.GetHeld())),
	}
	switch {
	case r.Number == 0:
		return nil, errors.New("a work request without a number")
	case max(r.Threads, r.Searchers, r.Want) > maxThreads || min(r.Threads, r.Searchers) == 0:
		return nil, fmt.Errorf("a worker with %d threads and %d searchers that wants %d chunks", r.Threads, r.Searchers, r.Want)
	case r.Leaving && (r.Want > 0 || len(r.Held) > 0):
		return nil, errors.New("a worker leaves, and holds or wants work")
	}
	if err := cmp.Or(queens.ValidateName("a version", r.Version), queens.ValidateName("a kernel", r.Kernel)); err != nil {
		return nil, err
	}
	for i, h := range m.GetHeld() {
		of, err1 := decodeRange(h.GetFirst(), h.GetTasks())
		ticket, err2 := decodeTicket(h.GetTicket())
		searched, err3 := decodeDuration(h.GetSearched())
		if err := cmp.Or(err1, err2, err3); err != nil {
			return nil, fmt.Errorf("a held chunk: %w", err)
		}
		r.Held[i] = queens.Held{Range: of, Ticket: ticket, Searched: searched}
	}
	return r, nil
}

// EncodeDelivery encodes results. The error says that they are more than a delivery may have.
func EncodeDelivery(d *queens.Delivery) ([]byte, error) {
	m := &nqueensv1.Delivery{Results: make([]*nqueensv1.Result, len(d.Results))}
	for i := range d.Results {
		r := &d.Results[i]
		m.Results[i] = &nqueensv1.Result{
			First: r.First, Tasks: r.Tasks, Ticket: r.Ticket[:], Counted: r.Counted.First, Counts: r.Counts,
			Hash: r.Hash, Kernel: r.Kernel, Searched: uint64(r.Searched),
		}
	}
	data, err := proto.Marshal(&nqueensv1.FromWorker{Protocol: Protocol, Delivery: m})
	if err == nil && len(data) > MaxDelivery {
		err = fmt.Errorf("a delivery of %d bytes, more than %d", len(data), MaxDelivery)
	}
	return data, err
}

func decodeDelivery(m *nqueensv1.Delivery) (*queens.Delivery, error) {
	d := &queens.Delivery{Results: make([]queens.Result, len(m.GetResults()))}
	if len(d.Results) == 0 {
		return nil, errors.New("a delivery without results")
	}
	for i, r := range m.GetResults() {
		of, err1 := decodeRange(r.GetFirst(), r.GetTasks())
		counted, err2 := decodeRange(r.GetCounted(), uint64(len(r.GetCounts())))
		ticket, err3 := decodeTicket(r.GetTicket())
		searched, err4 := decodeDuration(r.GetSearched())
		err := cmp.Or(err1, err2, err3, err4, queens.ValidateName("a kernel", r.GetKernel()))
		if err == nil && (r.GetKernel() == "" || !of.Contains(counted)) {
			err = fmt.Errorf("the tasks %v of the chunk %v, by the kernel %q", counted, of, r.GetKernel())
		}
		if err != nil {
			return nil, fmt.Errorf("a result: %w", err)
		}
		d.Results[i] = queens.Result{
			Range: of, Ticket: ticket, Counted: counted, Hash: r.GetHash(), Counts: r.GetCounts(), Kernel: r.GetKernel(), Searched: searched,
		}
	}
	return d, nil
}
