package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Sample says how many of the done tasks to count again, and how. The tasks are drawn at random,
// each with the same chance. Each is counted by another kernel than before if there is one: see
// [kernel.Differing].
type Sample struct {
	// share of the done tasks, 0 to 1; unless it is 0, at least one task is counted if any is done
	Share   float64
	Threads int // at least 1
	// Other counts by the other method, in place of another kernel. Only tasks of the method halves
	// can be counted so.
	Other bool
	// OnProgress is called when the recount begins and after each task, one call at a time, with the
	// number of tasks that were counted again and the number of tasks in the sample.
	OnProgress func(done, of uint64)
}

// Recounts say what was counted again.
type Recounts struct {
	Recounted uint64 `json:"recounted"` // tasks that were counted again
	// recounted tasks whose recount contradicts the ledger
	Differing   uint64       `json:"differing"`
	Differences []Difference `json:"differences"` // the first 100 that were found, sorted by task
	// part of the run's estimated work in the recounted tasks, 0 to 1
	Share   float64  `json:"share"`
	Kernels []string `json:"kernels"` // kernels that counted the sample
}

// Difference is a task whose recount contradicts the ledger.
type Difference struct {
	Task     uint64   `json:"task"`
	Count    uint64   `json:"count,string"` // in the ledger
	Machines []string `json:"machines"`     // which made this count
	Recount  uint64   `json:"recount,string"`
	Kernel   string   `json:"kernel"` // of the recount
}

// String returns what differs, for people.
func (d Difference) String() string {
	by := cmp.Or(strings.Join(d.Machines, " and "), "the coordinator")
	return fmt.Sprintf("task %d was counted %d by %s, kernel %s counts %d", d.Task, d.Count, by,
		d.Kernel, d.Recount)
}

const maxDifferences = 100 // in Recounts
const namedInError = 10    // of these

// recount counts a sample of a ledger's tasks again. It goes on after a difference. If there is
// one, the error wraps [queens.ErrContradiction] and names the first such tasks, even if ctx has
// ended. If there is none and ctx ends, the error is context.Cause(ctx). With any error, recount
// also returns what was counted until then.
func recount(ctx context.Context, s *ledger.State, sample Sample) (found Recounts, err error) {
	m, done := &s.Header().Manifest, s.NumberDone()
	if sample.Share == 0 {
		return found, nil
	}
	index, err := split.NewIndex(ctx, m.Method, m.Classes, queens.MaxTasks)
	if err != nil {
		return found, err
	}
	shares := split.Shares(m)
	of := min(max(uint64(math.Ceil(sample.Share*float64(done)-1e-9)), 1), done)
	sample.OnProgress(0, of)
	var mu sync.Mutex // of found
	work := func(ctx context.Context, task uint64) (struct{}, error) {
		d, err := countAgain(ctx, s, index, task, sample.Other)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			return struct{}{}, err
		}
		found.Recounted++
		found.Share = min(found.Share+shares[m.ClassOf(task)], 1)
		if !slices.Contains(found.Kernels, d.Kernel) {
			found.Kernels = append(found.Kernels, d.Kernel)
		}
		if d.Count != d.Recount {
			found.Differing++
			if len(found.Differences) < maxDifferences {
				found.Differences = append(found.Differences, d)
			}
		}
		sample.OnProgress(found.Recounted, of)
		return struct{}{}, nil
	}
	err = parallel.InOrderOn(ctx, sample.Threads, slices.Values(draw(s, of)), work,
		func(struct{}) error {
			return nil
		})
	slices.Sort(found.Kernels)
	slices.SortFunc(found.Differences, func(a, b Difference) int {
		return cmp.Compare(a.Task, b.Task)
	})
	return found, cmp.Or(found.err(), err)
}

// draw returns the given number of done tasks, drawn at random, in random order.
func draw(s *ledger.State, number uint64) []uint64 {
	tasks := make([]uint64, 0, number)
	left := s.NumberDone() // done tasks that come
	for task := range s.Header().Manifest.Tasks {
		if !s.Task(task).Done {
			continue
		}
		if rand.Uint64N(left) < number-uint64(len(tasks)) {
			tasks = append(tasks, task)
		}
		left--
	}
	rand.Shuffle(len(tasks), func(i, k int) { tasks[i], tasks[k] = tasks[k], tasks[i] })
	return tasks
}

// countAgain counts a task again. In the Difference that it returns, the two counts may be equal.
func countAgain(
	ctx context.Context, s *ledger.State, index *split.Index, task uint64, other bool,
) (Difference, error) {
	tasks := index.Range(task, 1)
	if len(tasks) == 0 {
		return Difference{}, fmt.Errorf("%w: the split has no task %d", queens.ErrContradiction, task)
	}
	d := Difference{Task: task, Count: s.Task(task).Count}
	var kernels []string
	for _, c := range s.Counts(task) {
		kernels = append(kernels, c.Kernel)
		if c.Count == d.Count && !c.Recount && !slices.Contains(d.Machines, c.Machine.String()) {
			d.Machines = append(d.Machines, c.Machine.String())
		}
	}
	count := func() (queens.TaskCount, error) {
		if other {
			return count.ByDepthFirst(ctx, kernel.Available()[0], &tasks[0])
		}
		return count.One(ctx, count.Differing(tasks[0].Method(), kernels...), &tasks[0])
	}
	again, err := count()
	d.Recount, d.Kernel = again.Count, again.Kernel
	return d, err
}

// err returns an error that names the first differences, or nil if there are none.
func (r *Recounts) err() error {
	if r.Differing == 0 {
		return nil
	}
	text := fmt.Sprintf("%d of %d recounts differ", r.Differing, r.Recounted)
	for _, d := range r.Differences[:min(namedInError, len(r.Differences))] {
		text += "; " + d.String()
	}
	return fmt.Errorf("%w: %s", queens.ErrContradiction, text)
}
