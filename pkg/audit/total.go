// Package audit works on the file of a ledger alone: it computes the total, verifies a run, counts
// a sample of its tasks again, and exports the tasks. It relies on nothing that a coordinator holds
// in memory.
package audit

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Total computes the total of the ledger at path in two ways, which must agree with each other,
// with the mark of a complete run, and with the published total, if there is one. One way is the
// fold. The other way makes the tasks again, which must be those of the manifest. Then it checks
// that each result is of these tasks, and adds up the counts in the records.
//
// The error wraps [queens.ErrIncomplete] if a task is not done or needs a recount, and
// [queens.ErrContradiction] if there is a contradiction. If ctx ends, Total returns
// context.Cause(ctx). Other errors come from [ledger.Load], or say that another version of the
// program must audit the run.
func Total(ctx context.Context, path string) (*big.Int, error) {
	s, _, err := ledger.Load(path)
	if err != nil {
		return nil, err
	}
	return total(ctx, path, s)
}

// total does what [Total] does, with a ledger that has been folded.
func total(ctx context.Context, path string, s *ledger.State) (*big.Int, error) {
	m := &s.Header().Manifest
	if m.SplitVersion != split.Version { // no contradiction: another version can audit it
		_, err := split.Check(ctx, m, nil)
		return nil, err
	}
	if err := checkClasses(m); err != nil {
		return nil, err
	}
	if err := checkDone(s); err != nil {
		if s.Ended() == queens.Contradicted {
			err = fmt.Errorf("%w: it was contradicted before it was complete: %w", queens.ErrContradiction,
				err)
		}
		return nil, err
	}
	first, ended, known := s.Solutions(), s.Ended(), m.KnownTotal()
	second, err := again(ctx, path, s)
	switch {
	case err != nil:
		return nil, err
	case first.Cmp(second) != 0:
		return nil, fmt.Errorf("%w: the fold of the ledger sums to %d, the tasks to %d",
			queens.ErrContradiction, first, second)
	case ended == queens.Complete && first.Cmp((*big.Int)(s.Mark().Total)) != 0:
		return nil, fmt.Errorf("%w: the counts sum to %d, the ledger says %s", queens.ErrContradiction,
			first, s.Mark().Total)
	case known != nil && first.Cmp(known) != 0:
		return nil, fmt.Errorf("%w: counted %d, but %d is published for n = %d", queens.ErrContradiction,
			first, known, m.N)
	case ended == queens.Contradicted:
		return nil, fmt.Errorf("%w: the run ended contradicted, although its counts sum to %d",
			queens.ErrContradiction, first)
	}
	return first, nil
}

// checkClasses returns an error unless the manifest has the classes that its symmetry and its
// placed queens give. The hash of the tasks does not cover the weights of the classes, on which the
// total depends too.
func checkClasses(m *queens.Manifest) error {
	want, err := split.Classes(m.Method, m.N, m.Symmetry, m.Placed...)
	if err != nil {
		return fmt.Errorf("the manifest of the run: %w", err)
	}
	isSame := func(class queens.Class, plan queens.ClassPlan) bool { return class == plan.Class }
	if !slices.EqualFunc(want, m.Classes, isSame) {
		return fmt.Errorf("%w: this program makes other classes than the run has, for symmetry %s, "+
			"side %d and queens on %v: "+
			"use the program version that started it", queens.ErrContradiction, m.Symmetry, m.N, m.Placed)
	}
	return nil
}

// checkDone returns an error unless every task is done and none needs a recount.
func checkDone(s *ledger.State) error {
	unsettled, done, tasks := s.Unsettled(), s.NumberDone(), s.Header().Manifest.Tasks
	switch {
	case len(unsettled) > 0:
		return fmt.Errorf("%w: %d tasks need a recount, first task %d", queens.ErrIncomplete,
			len(unsettled), unsettled[0])
	case done < tasks:
		return fmt.Errorf("%w: %d of %d tasks are done", queens.ErrIncomplete, done, tasks)
	}
	return nil
}

// again computes the total in the second way: see [Total]. It takes nothing from the fold but the
// banned machines.
func again(ctx context.Context, path string, s *ledger.State) (*big.Int, error) {
	m := &s.Header().Manifest
	var hashes []uint64
	_, err := split.Check(ctx, m, func(some []uint64) { hashes = append(hashes, some...) })
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", queens.ErrContradiction, err)
	}
	counts, counted := make([]uint64, m.Tasks), make([]bool, m.Tasks)
	enter := func(task, count uint64) error {
		if counted[task] && counts[task] != count {
			return fmt.Errorf("%w: task %d has the counts %d and %d", queens.ErrContradiction, task,
				counts[task], count)
		}
		counts[task], counted[task] = count, true
		return nil
	}
	recounts := make(map[uint64][]*ledger.Recount) // of each task
	err = ledger.Read(path, func(r ledger.Record) error {
		switch r := r.(type) {
		case *ledger.Result:
			if r.Validate(m.Tasks) != nil || queens.HashOfRange(hashes[r.First:r.End()]) != r.Hash {
				return fmt.Errorf("%w: machine %s searched other tasks than %v", queens.ErrContradiction,
					r.Machine, r.Range)
			}
			for i := 0; i < len(r.Counts) && !s.Banned(r.Machine); i++ {
				if err := enter(r.First+uint64(i), r.Counts[i]); err != nil {
					return err
				}
			}
		case *ledger.Dispute:
			for _, c := range r.Counts {
				if s.Banned(c.Machine) {
					continue
				}
				if err := enter(r.Task, c.Count); err != nil {
					return err
				}
			}
		case *ledger.Recount:
			recounts[r.Task] = append(recounts[r.Task], r)
		}
		return context.Cause(ctx)
	})
	for task, found := range recounts {
		err = cmp.Or(err, enter(task, verdict(m.Method, found)))
	}
	if err != nil {
		return nil, err
	}
	var sums queens.Sums
	for task, count := range counts {
		if !counted[task] {
			return nil, fmt.Errorf("%w: task %d has no count", queens.ErrIncomplete, task)
		}
		sums.Add(m.Classes[m.ClassOf(uint64(task))].Weight, count)
	}
	return sums.Total(), nil
}

// verdict returns the count that the recounts of a done task establish: the count that two
// different searches found, or else the only count.
func verdict(m queens.Method, recounts []*ledger.Recount) uint64 {
	for i, a := range recounts {
		for _, b := range recounts[:i] {
			different := a.Kernel != b.Kernel || a.Deeper != b.Deeper
			if m == queens.Halves {
				different = queens.MethodOf(a.Kernel) != queens.MethodOf(b.Kernel)
			}
			if different && a.Count == b.Count {
				return a.Count
			}
		}
	}
	return recounts[0].Count
}
