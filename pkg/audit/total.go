// Package audit works on the file of a ledger alone: it computes the total, verifies a run, counts
// a sample of its tasks again, and exports the tasks. It relies on nothing that a coordinator holds
// in memory.
package audit

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"runtime/debug"
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
	defer frugal()()
	s, _, err := ledger.Load(path)
	if err != nil {
		return nil, err
	}
	return total(ctx, path, s)
}

// frugal makes the garbage collector run more often, and returns a function that ends this. Counts
// have no pointers, so a collection takes little time.
func frugal() (end func()) {
	before := debug.SetGCPercent(15)
	debug.FreeOSMemory()
	return func() { debug.SetGCPercent(before) }
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
	first, ended, known, mark := s.Solutions(), s.Ended(), m.KnownTotal(), s.Mark()
	isBanned := s.Bannings()
	debug.FreeOSMemory() // the fold, which takes 16 bytes for each task, may be of no more use
	second, err := again(ctx, path, m, isBanned, windowTasks)
	switch {
	case err != nil:
		return nil, err
	case first.Cmp(second) != 0:
		return nil, fmt.Errorf("%w: the fold of the ledger sums to %d, the tasks to %d",
			queens.ErrContradiction, first, second)
	case ended == queens.Complete && first.Cmp((*big.Int)(mark.Total)) != 0:
		return nil, fmt.Errorf("%w: the counts sum to %d, the ledger says %s", queens.ErrContradiction,
			first, mark.Total)
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
// banned machines. It reads the log once for each window of so many tasks, so that it needs little
// memory.
func again(
	ctx context.Context, path string, m *queens.Manifest, isBanned func(queens.Machine) bool,
	windowTasks int,
) (*big.Int, error) {
	size := min(uint64(windowTasks), m.Tasks)
	w := window{path: path, manifest: m, isBanned: isBanned,
		hashes: make([]uint64, 0, size+queens.MaxChunkTasks),
		counts: make([]uint64, size), counted: make([]bool, size)}
	var failed error
	_, err := split.Check(ctx, m, func(some []uint64) {
		for len(some) > 0 && failed == nil {
			n := min(len(some), windowTasks-int(w.tasks))
			w.hashes = append(w.hashes, some[:n]...)
			w.tasks += uint64(n)
			some = some[n:]
			if int(w.tasks) == windowTasks {
				failed = w.read(ctx)
			}
		}
	})
	if failed == nil {
		failed = w.read(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", queens.ErrContradiction, err)
	case failed != nil:
		return nil, failed
	}
	return w.sums.Total(), nil
}

// windowTasks is the number of tasks in a window. They take 17 bytes each.
const windowTasks = 1 << 22

// window is a range of tasks whose counts are added up.
type window struct {
	path         string
	manifest     *queens.Manifest
	isBanned     func(queens.Machine) bool
	first, tasks uint64
	// of the tasks, and of up to MaxChunkTasks tasks before them: a result may begin there
	hashes  []uint64
	counts  []uint64
	counted []bool
	sums    queens.Sums
}

// read reads the log, adds up the counts of the window, and begins the next one.
func (w *window) read(ctx context.Context) error {
	w.counts, w.counted = w.counts[:w.tasks], w.counted[:w.tasks]
	clear(w.counted)
	recounts := make(map[uint64][]*ledger.Recount) // of each task
	err := ledger.Read(w.path, func(r ledger.Record) error {
		switch r := r.(type) {
		case *ledger.Result:
			if err := w.result(r); err != nil {
				return err
			}
		case *ledger.Dispute:
			for _, c := range r.Counts {
				if w.isBanned(c.Machine) {
					continue
				}
				if err := w.enter(r.Task, c.Count); err != nil {
					return err
				}
			}
		case *ledger.Recount:
			if w.has(r.Task) {
				recounts[r.Task] = append(recounts[r.Task], r)
			}
		}
		return context.Cause(ctx)
	})
	for task, found := range recounts {
		err = cmp.Or(err, w.enter(task, verdict(w.manifest.Method, found)))
	}
	if err != nil {
		return err
	}
	for i, count := range w.counts {
		task := w.first + uint64(i)
		if !w.counted[i] {
			return fmt.Errorf("%w: task %d has no count", queens.ErrIncomplete, task)
		}
		w.sums.Add(w.manifest.Classes[w.manifest.ClassOf(task)].Weight, count)
	}
	w.first, w.tasks = w.first+w.tasks, 0
	keep := min(len(w.hashes), queens.MaxChunkTasks)
	w.hashes = append(w.hashes[:0], w.hashes[len(w.hashes)-keep:]...)
	return nil
}

// has reports whether a task is in the window.
func (w *window) has(task uint64) bool { return task >= w.first && task-w.first < w.tasks }

// enter notes a count of a task, if the task is in the window.
func (w *window) enter(task, count uint64) error {
	if !w.has(task) {
		return nil
	}
	i := task - w.first
	if w.counted[i] && w.counts[i] != count {
		return fmt.Errorf("%w: task %d has the counts %d and %d", queens.ErrContradiction, task,
			w.counts[i], count)
	}
	w.counts[i], w.counted[i] = count, true
	return nil
}

// result checks a result whose last task is in the window, and enters its counts.
func (w *window) result(r *ledger.Result) error {
	before := w.first + w.tasks - uint64(len(w.hashes)) // the task of the first hash
	isOther := r.Validate(w.manifest.Tasks) != nil || r.Tasks > queens.MaxChunkTasks
	if !isOther && w.has(r.End()-1) {
		isOther = queens.HashOfRange(w.hashes[r.First-before:r.End()-before]) != r.Hash
	}
	if isOther {
		return fmt.Errorf("%w: machine %s searched other tasks than %v", queens.ErrContradiction,
			r.Machine, r.Range)
	}
	for i := 0; i < len(r.Counts) && !w.isBanned(r.Machine); i++ {
		if err := w.enter(r.First+uint64(i), r.Counts[i]); err != nil {
			return err
		}
	}
	return nil
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
