// Package audit goes through a ledger from its file alone: it computes the total, verifies a run, counts a sample of its
// tasks again, and exports the tasks. It relies on nothing that a coordinator holds in memory.
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
	"nqueens/pkg/symmetry"
)

// Total computes the total of the ledger at path by two routes, which must agree with each other, with the mark of a
// complete run, and with the published total. One is the fold. The other splits the count again, which must give the tasks
// of the manifest, compares what each result searched with these tasks, and adds up the counts as they stand in the records.
//
// The error wraps [queens.ErrIncomplete] if a task is not done or awaits a recount, and [queens.ErrContradiction] if
// something contradicts; or it is one of [ledger.Load], or the cause of ctx's end.
func Total(ctx context.Context, path string) (*big.Int, error) {
	s, _, err := ledger.Load(path)
	if err != nil {
		return nil, err
	}
	return total(ctx, path, s)
}

// total is [Total] of a ledger that has been folded.
func total(ctx context.Context, path string, s *ledger.State) (*big.Int, error) {
	m := &s.Header().Manifest
	if m.SplitVersion != split.Version { // it contradicts nothing: another program can tell
		_, err := split.Check(ctx, m, nil)
		return nil, err
	}
	if err := checkClasses(m); err != nil {
		return nil, err
	}
	if err := checkDone(s); err != nil {
		if s.Ended() == queens.Contradicted {
			err = fmt.Errorf("%w: it was contradicted before it was complete: %w", queens.ErrContradiction, err)
		}
		return nil, err
	}
	first, ended, known := s.Solutions(), s.Ended(), m.KnownTotal()
	second, err := again(ctx, path, s)
	switch {
	case err != nil:
		return nil, err
	case first.Cmp(second) != 0:
		return nil, fmt.Errorf("%w: the fold of the ledger sums to %d, the tasks to %d", queens.ErrContradiction, first, second)
	case ended == queens.Complete && first.Cmp((*big.Int)(s.Mark().Total)) != 0:
		return nil, fmt.Errorf("%w: the counts sum to %d, the ledger says %s", queens.ErrContradiction, first, s.Mark().Total)
	case known != nil && first.Cmp(known) != 0:
		return nil, fmt.Errorf("%w: counted %d, the published total for n = %d is %d", queens.ErrContradiction, first, m.N, known)
	case ended == queens.Contradicted:
		return nil, fmt.Errorf("%w: the run ended contradicted, although its counts sum to %d", queens.ErrContradiction, first)
	}
	return first, nil
}

// checkClasses returns an error unless the manifest's classes are those of its symmetry and its placed queens. The hashes
// of the tasks cover the classes, but the total also depends on their weights.
func checkClasses(m *queens.Manifest) error {
	want, err := symmetry.Classes(m.N, m.Symmetry, m.Placed...)
	if err != nil {
		return fmt.Errorf("the manifest of the run: %w", err)
	}
	if !slices.EqualFunc(want, m.Classes, func(class queens.Class, plan queens.ClassPlan) bool { return class == plan.Class }) {
		return fmt.Errorf("%w: the classes of the run are not those of symmetry %s on a board of side %d with queens on %v: use the program version that started it", queens.ErrContradiction, m.Symmetry, m.N, m.Placed)
	}
	return nil
}

// checkDone returns nil if every task is done, and nothing is awaited.
func checkDone(s *ledger.State) error {
	unsettled, done, tasks := s.Unsettled(), s.NumberDone(), s.Header().Manifest.Tasks
	switch {
	case len(unsettled) > 0:
		return fmt.Errorf("%w: %d tasks need a recount, the first is task %d", queens.ErrIncomplete, len(unsettled), unsettled[0])
	case done < tasks:
		return fmt.Errorf("%w: %d of %d tasks are done", queens.ErrIncomplete, done, tasks)
	}
	return nil
}

// again is the second route to the total. Of the fold it takes only who is banned.
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
	var sums symmetry.Sums
	missing := m.Tasks
	recounts := make(map[uint64][]*ledger.Recount) // of each task
	enter := func(task, count uint64) error {
		switch {
		case !counted[task]:
			counts[task], counted[task] = count, true
			sums.Add(m.Classes[m.ClassOf(task)].Weight, count)
			missing--
		case counts[task] != count:
			return fmt.Errorf("%w: two counts of task %d are left, %d and %d", queens.ErrContradiction, task, counts[task], count)
		}
		return nil
	}
	err = ledger.Read(path, func(r ledger.Record) error {
		switch r := r.(type) {
		case *ledger.Result:
			if r.Validate(m.Tasks) != nil || queens.HashOfRange(hashes[r.First:r.End()]) != r.Hash {
				return fmt.Errorf("%w: machine %s searched something else than tasks %v", queens.ErrContradiction, r.Machine, r.Range)
			}
			for i := 0; i < len(r.Counts) && !s.Banned(r.Machine); i++ {
				if err := enter(r.First+uint64(i), r.Counts[i]); err != nil {
					return err
				}
			}
		case *ledger.Recount:
			recounts[r.Task] = append(recounts[r.Task], r)
		}
		return context.Cause(ctx)
	})
	for task, found := range recounts {
		count := found[0].Count
		for i, a := range found { // where recounts differ, two searches have found the same
			if slices.ContainsFunc(found[:i], func(b *ledger.Recount) bool {
				return a.Count == b.Count && (a.Kernel != b.Kernel || a.Deeper != b.Deeper)
			}) {
				count = a.Count
			}
		}
		err = cmp.Or(err, enter(task, count))
	}
	if err != nil {
		return nil, err
	}
	if missing > 0 {
		return nil, fmt.Errorf("%w: %d tasks have no count", queens.ErrIncomplete, missing)
	}
	return sums.Total(), nil
}
