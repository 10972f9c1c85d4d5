package bus

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/queens"
)

// FromWorker is a message of a worker: a work request or a delivery.
type FromWorker struct {
	Request  *queens.WorkRequest
	Delivery *queens.Delivery
}

// DecodeFromWorker returns a message of a worker. The error wraps a [VersionError] if the worker
// has another version.
func DecodeFromWorker(data []byte) (FromWorker, error) {
	if len(data) > MaxFromWorker {
		return FromWorker{}, fmt.Errorf("a message of %d bytes, more than %d", len(data), MaxFromWorker)
	}
	return decode(data, new(nqueensv1.FromWorker),
		func(d *decoder, m *nqueensv1.FromWorker) FromWorker {
			switch request, delivery := m.GetRequest(), m.GetDelivery(); {
			case request != nil && delivery == nil:
				return FromWorker{Request: d.request(request)}
			case delivery != nil && request == nil && len(data) <= MaxDelivery:
				return FromWorker{Delivery: d.delivery(delivery)}
			}
			d.check(false, "a message of %d bytes that is neither a work request nor a delivery", len(data))
			return FromWorker{}
		})
}

// IsDelivery reports whether an encoded message of a worker has a delivery. It looks at the numbers
// of its fields only.
func IsDelivery(data []byte) bool {
	for len(data) > 0 {
		field, kind, tag := protowire.ConsumeTag(data)
		if tag < 0 {
			return false
		}
		size := protowire.ConsumeFieldValue(field, kind, data[tag:])
		if size < 0 {
			return false
		}
		if field == deliveryField {
			return true
		}
		data = data[tag+size:]
	}
	return false
}

// deliveryField is the number of the field delivery of a FromWorker.
const deliveryField = 3

// EncodeRequest encodes a work request.
func EncodeRequest(r *queens.WorkRequest) ([]byte, error) {
	m := &nqueensv1.WorkRequest{
		Number: r.Number, Connection: r.Connection, Host: queens.CleanHost(r.Host),
		Version: queens.SanitizeName(r.Version), Kernel: r.Kernel, Threads: uint32(r.Threads),
		Searchers: uint32(r.Searchers), Want: uint32(r.Want), Leaving: r.Leaving, Seen: r.Seen,
		RoundTrip: uint64(r.RoundTrip),
	}
	for _, h := range r.Held {
		m.Held = append(m.Held,
			&nqueensv1.Held{First: h.First, Tasks: h.Tasks, Ticket: h.Ticket[:],
				Searched: uint64(h.Searched)})
	}
	return proto.Marshal(&nqueensv1.FromWorker{Protocol: Protocol, Request: m})
}

func (d *decoder) request(m *nqueensv1.WorkRequest) *queens.WorkRequest {
	r := &queens.WorkRequest{
		Number: m.GetNumber(), Connection: m.GetConnection(), Host: m.GetHost(),
		Version: d.name("a version", m.GetVersion()), Kernel: d.name("a kernel", m.GetKernel()),
		Threads: int(m.GetThreads()), Searchers: int(m.GetSearchers()), Want: int(m.GetWant()),
		Leaving: m.GetLeaving(), Seen: m.GetSeen(), RoundTrip: d.duration(m.GetRoundTrip()),
		Held: make([]queens.Held, len(m.GetHeld())),
	}
	for i, h := range m.GetHeld() {
		r.Held[i] = queens.Held{
			Range: d.tasks(h.GetFirst(), h.GetTasks()), Ticket: d.ticket(h.GetTicket()),
			Searched: d.duration(h.GetSearched()),
		}
	}
	d.valid(queens.ValidateHost(r.Host))
	d.check(r.Number > 0 && r.Connection != 0, "a work request without a number or a connection")
	d.check(max(r.Threads, r.Searchers, r.Want) <= maxThreads && min(r.Threads, r.Searchers) > 0,
		"a worker with %d threads and %d searchers that wants %d chunks", r.Threads, r.Searchers, r.Want)
	d.check(!r.Leaving || r.Want == 0 && len(r.Held) == 0, "a worker leaves, and holds or wants work")
	return r
}

// EncodeDelivery encodes results. It returns an error if they take more than [MaxDelivery] bytes.
func EncodeDelivery(d *queens.Delivery) ([]byte, error) {
	m := &nqueensv1.Delivery{Results: make([]*nqueensv1.Result, len(d.Results))}
	for i, r := range d.Results {
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

func (d *decoder) delivery(m *nqueensv1.Delivery) *queens.Delivery {
	results := make([]queens.Result, len(m.GetResults()))
	d.check(len(results) > 0, "a delivery without results")
	for i, r := range m.GetResults() {
		results[i] = queens.Result{
			Range: d.tasks(r.GetFirst(), r.GetTasks()), Ticket: d.ticket(r.GetTicket()),
			Counted: d.tasks(r.GetCounted(), uint64(len(r.GetCounts()))), Hash: r.GetHash(),
			Counts: r.GetCounts(),
			Kernel: d.name("a kernel", r.GetKernel()), Searched: d.duration(r.GetSearched()),
		}
		d.check(r.GetKernel() != "" && results[i].Range.Contains(results[i].Counted),
			"a result of the tasks %v of the chunk %v, by the kernel %q", results[i].Counted,
			results[i].Range, r.GetKernel())
	}
	return &queens.Delivery{Results: results}
}
