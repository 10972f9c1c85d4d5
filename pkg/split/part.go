package split

import (
	"context"
	"iter"

	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
)

// Part is a range of consecutive tasks of one class, and the place where they begin. Making the
// parts of a class takes a small fraction of the time of making its tasks.
type Part struct {
	Class int    // index in the manifest
	First uint64 // id of the first task
	Tasks int

	batch int
	start walk
}

const (
	// maxPartTasks and maxPartPrefixes bound a part to some milliseconds.
	maxPartTasks    = 1 << 12
	maxPartPrefixes = 1 << 17
	// maxPartSteps bounds a part where prefixes are rare: on boards with few squares, or deep
	// down.
	maxPartSteps = 1 << 17
)

// parts yields the parts of a class, in order. Its tasks have ids from first on.
func parts(class int, plan *queens.ClassPlan, first uint64) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		most := partTasks(plan.Batch)
		for w := newWalk(&plan.Board, plan.Depth); !w.ended; {
			p := Part{Class: class, First: first, batch: plan.Batch, start: *w}
			for p.Tasks < most && w.steps-p.start.steps < maxPartSteps && w.skip(plan.Batch) > 0 {
				p.Tasks++
			}
			first += uint64(p.Tasks)
			if p.Tasks > 0 && !yield(p) {
				return
			}
		}
	}
}

// partTasks returns the greatest number of tasks in a part.
func partTasks(batch int) int { return min(maxPartTasks, max(maxPartPrefixes/batch, 1)) }

// All yields the tasks of the part in order of id, with Run empty. The prefixes of a task are
// overwritten by the next task.
func (p *Part) All() iter.Seq[queens.Task] {
	return func(yield func(queens.Task) bool) {
		w := p.start
		task := queens.Task{ID: p.First, Board: w.board}
		for range p.Tasks {
			task.Prefixes = w.take(task.Prefixes[:0], p.batch)
			if !yield(task) {
				return
			}
			task.ID++
		}
	}
}

// InOrder divides the tasks of a manifest among the cores: it calls work with each part, several
// at a time, and done with the results in the order of the parts, one call at a time. Neither
// holds more than a few parts a core. Errors are those of [parallel.InOrder].
func InOrder[T any](ctx context.Context, m *queens.Manifest, work func(context.Context, *Part) (T, error), done func(T) error) error {
	return parallel.InOrder(ctx, allParts(m), func(ctx context.Context, p Part) (T, error) { return work(ctx, &p) }, done)
}

// allParts yields the parts of all classes, in order.
func allParts(m *queens.Manifest) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for i := range m.Classes {
			for p := range parts(i, &m.Classes[i], m.Classes[i].First) {
				if !yield(p) {
					return
				}
			}
		}
	}
}
