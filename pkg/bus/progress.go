package bus

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// PublishProgress shows a run to whoever watches. Nobody is waited for: a snapshot that
// nobody watches, or for which there is no connection, is dropped.
func (b *Bus) PublishProgress(s run.Progress) error {
	if !b.conn.IsConnected() {
		return nil // when it is again, there are newer ones
	}
	data, err := encodeProgress(&s)
	if err != nil {
		return err
	}
	return b.conn.Publish(progressSubject(s.Run), data)
}

// WatchProgress calls each, one at a time, with the snapshots of a run until ctx ends;
// then it returns nil. While the server is away there are none.
func (b *Bus) WatchProgress(ctx context.Context, run string, each func(run.Progress)) error {
	if err := queens.ValidateRun(run); err != nil {
		return err
	}
	subscription, err := b.conn.Subscribe(progressSubject(run), func(m *nats.Msg) {
		s, err := decodeProgress(m.Subject, m.Data)
		if err != nil {
			b.rejected.add(m.Subject, m.Data, err)
			return
		}
		each(s)
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	_ = subscription.Unsubscribe() // fails when the connection ended first: as well
	return nil
}

// RunNames returns the names of the runs that the server has a record of, in no order.
// Unlike [Bus.Runs] it makes no consumer: it is for those who may change nothing.
func (b *Bus) RunNames(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	prefix := "$KV." + runsBucket + "."
	stream, err := b.js.Stream(ctx, "KV_"+runsBucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, bucketError(err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return nil, bucketError(err)
	}
	var names []string
	for subject := range info.State.Subjects {
		if name := strings.TrimPrefix(subject, prefix); queens.ValidateRun(name) == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

func encodeProgress(s *run.Progress) ([]byte, error) {
	crew := make([]*nqueensv1.CrewMember, len(s.Workers))
	for i, m := range s.Workers {
		crew[i] = &nqueensv1.CrewMember{
			Name: queens.Sanitize(m.Name), Kernel: queens.Sanitize(m.Kernel), Threads: uint32(m.Threads),
			Rate: m.Rate, Held: uint32(m.Held), OldestNs: uint64(m.LongestTask),
		}
	}
	m := nqueensv1.Progress{
		Protocol: Protocol,
		Run:      s.Run, N: uint32(s.N), Symmetry: string(s.Symmetry), Placed: uint32(s.Placed),
		State: string(s.State), Done: s.Done, Tasks: s.Tasks, Work: s.WorkDone, Solutions: s.Solutions.String(), Rate: s.Rate,
		ElapsedNs: uint64(s.Elapsed), EtaLeastNs: uint64(s.ETA.Min), EtaMostNs: uint64(s.ETA.Max),
		Workers: uint32(s.WorkerCount), Threads: uint64(s.Threads), Repeated: s.Republished, Conflicts: uint32(s.Conflicts),
		Crew: crew,
	}
	if s.Total != nil {
		m.Total = s.Total.String()
	}
	return proto.Marshal(&m)
}

// decodeProgress returns the valid snapshot of the subject's run.
func decodeProgress(subject string, data []byte) (run.Progress, error) {
	var m nqueensv1.Progress
	if err := proto.Unmarshal(data, &m); err != nil {
		return run.Progress{}, err
	}
	if err := checkProtocol(m.GetProtocol(), ""); err != nil {
		return run.Progress{}, err
	}
	if m.GetThreads() > maxInt || uint64(max(m.GetWorkers(), m.GetConflicts(), m.GetN(), m.GetPlaced())) > maxInt {
		return run.Progress{}, errors.New("progress with a number beyond reason")
	}
	s := run.Progress{
		Run: m.GetRun(), N: int(m.GetN()), Symmetry: queens.Symmetry(m.GetSymmetry()), Placed: int(m.GetPlaced()),
		State: run.State(m.GetState()), Done: m.GetDone(), Tasks: m.GetTasks(), WorkDone: m.GetWork(), Rate: m.GetRate(),
		Elapsed:     time.Duration(m.GetElapsedNs()),
		ETA:         run.Range{Min: time.Duration(m.GetEtaLeastNs()), Max: time.Duration(m.GetEtaMostNs())},
		WorkerCount: int(m.GetWorkers()), Threads: int(m.GetThreads()), Republished: m.GetRepeated(), Conflicts: int(m.GetConflicts()),
	}
	var err error
	if s.Solutions, err = whole(m.GetSolutions()); err != nil {
		return run.Progress{}, err
	}
	if m.GetTotal() != "" {
		if s.Total, err = whole(m.GetTotal()); err != nil {
			return run.Progress{}, err
		}
	}
	for _, w := range m.GetCrew() {
		s.Workers = append(s.Workers, run.WorkerStatus{
			Name: w.GetName(), Kernel: w.GetKernel(), Threads: int(w.GetThreads()),
			Rate: w.GetRate(), Held: int(w.GetHeld()), LongestTask: time.Duration(w.GetOldestNs()),
		})
	}
	if err := s.Validate(); err != nil {
		return run.Progress{}, err
	}
	if progressSubject(s.Run) != subject {
		return run.Progress{}, fmt.Errorf("progress of run %s on another run's subject", s.Run)
	}
	return s, nil
}

const (
	// maxInt bounds the numbers of a message that are small in a program that means well.
	maxInt = 1<<31 - 1
	// maxDigits bounds a number of solutions.
	maxDigits = 80
)

// whole reads a number as encodeProgress writes it.
func whole(digits string) (*big.Int, error) {
	if len(digits) <= maxDigits {
		if x, ok := new(big.Int).SetString(digits, 10); ok && x.String() == digits {
			return x, nil
		}
	}
	return nil, fmt.Errorf("progress with %.80q for a number of solutions", digits)
}
