package bus

import (
	"errors"
	"fmt"
	"math/big"
	"time"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// encodeProgress returns the wire form of a snapshot.
func encodeProgress(p *run.Progress) ([]byte, error) {
	workers := make([]*nqueensv1.WorkerStatus, len(p.Workers))
	for i, w := range p.Workers {
		workers[i] = &nqueensv1.WorkerStatus{
			Name: queens.Sanitize(w.Name), Kernel: queens.Sanitize(w.Kernel), Threads: uint32(w.Threads),
			Rate: w.Rate, Held: uint32(w.Held), LongestTaskNs: uint64(w.LongestTask),
		}
	}
	m := nqueensv1.Progress{
		Protocol: Protocol,
		Run:      p.Run, N: uint32(p.N), Symmetry: string(p.Symmetry), Placed: uint32(p.Placed),
		State: string(p.State), Done: p.Done, Tasks: p.Tasks, WorkDone: p.WorkDone, Rate: p.Rate,
		Solutions: p.Solutions.String(),
		ElapsedNs: uint64(p.Elapsed), EtaMinNs: uint64(p.ETA.Min), EtaMaxNs: uint64(p.ETA.Max),
		WorkerCount: uint32(p.WorkerCount), Threads: uint64(p.Threads), Workers: workers,
		Republished: p.Republished, Conflicts: uint32(p.Conflicts), SharedWith: p.SharedWith, Bound: string(p.Bound),
		MovedTo: p.MovedTo,
	}
	if p.Total != nil {
		m.Total = p.Total.String()
	}
	return proto.Marshal(&m)
}

// maxInt rejects counters that no well-behaved peer sends.
const maxInt = 1<<31 - 1

// decodeProgress returns the valid snapshot of the subject's run.
func decodeProgress(subject string, data []byte) (run.Progress, error) {
	var m nqueensv1.Progress
	if err := unmarshal(data, &m); err != nil {
		return run.Progress{}, err
	}
	if m.GetThreads() > maxInt || max(m.GetWorkerCount(), m.GetConflicts(), m.GetN(), m.GetPlaced()) > maxInt {
		return run.Progress{}, errors.New("progress with a number out of range")
	}
	p := run.Progress{
		Run: m.GetRun(), N: int(m.GetN()), Symmetry: queens.Symmetry(m.GetSymmetry()), Placed: int(m.GetPlaced()),
		State: run.State(m.GetState()), Done: m.GetDone(), Tasks: m.GetTasks(), WorkDone: m.GetWorkDone(), Rate: m.GetRate(),
		Elapsed:     time.Duration(m.GetElapsedNs()),
		ETA:         run.Range{Min: time.Duration(m.GetEtaMinNs()), Max: time.Duration(m.GetEtaMaxNs())},
		WorkerCount: int(m.GetWorkerCount()), Threads: int(m.GetThreads()),
		Republished: m.GetRepublished(), Conflicts: int(m.GetConflicts()),
		SharedWith: m.GetSharedWith(), Bound: run.Bound(m.GetBound()),
		MovedTo: m.GetMovedTo(),
	}
	var err error
	if p.Solutions, err = parseCount(m.GetSolutions()); err != nil {
		return run.Progress{}, err
	}
	if m.GetTotal() != "" {
		if p.Total, err = parseCount(m.GetTotal()); err != nil {
			return run.Progress{}, err
		}
	}
	for _, w := range m.GetWorkers() {
		p.Workers = append(p.Workers, run.WorkerStatus{
			Name: w.GetName(), Kernel: w.GetKernel(), Threads: int(w.GetThreads()),
			Rate: w.GetRate(), Held: int(w.GetHeld()), LongestTask: time.Duration(w.GetLongestTaskNs()),
		})
	}
	if err := validate(&p, subject, ProgressSubject(p.Run)); err != nil {
		return run.Progress{}, err
	}
	return p, nil
}

// maxDigits bounds a number of solutions.
const maxDigits = 80

// parseCount reads a number in the form that encodeProgress writes.
func parseCount(digits string) (*big.Int, error) {
	if len(digits) <= maxDigits {
		if x, ok := new(big.Int).SetString(digits, 10); ok && x.String() == digits {
			return x, nil
		}
	}
	return nil, fmt.Errorf("progress with %.80q for a number of solutions", digits)
}
