package audit

import (
	"cmp"
	"context"
	"fmt"
	"iter"
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

// Sample selects tasks that are done, to count them again, and says how. They are drawn in a random order, without
// replacement, each with the same chance, and counted by another kernel than those that counted them: see [kernel.Differing].
type Sample struct {
	Share   float64 // of the tasks that are done, 0 to 1, rounded up; at least one task
	Threads int     // at least 1
	// OnProgress is called when the recount begins and after each task, one call at a time, with the number of tasks that are
	// counted again, and of all that are drawn.
	OnProgress func(done, of uint64)
}

// Recounts are what was counted again.
type Recounts struct {
	Recounted   uint64       `json:"recounted"`   // tasks that were counted again
	Differing   uint64       `json:"differing"`   // recounted tasks whose recount contradicts the ledger
	Differences []Difference `json:"differences"` // at most 100 of these tasks, those that were found first, by task
	Share       float64      `json:"share"`       // of the recounted tasks in the estimated work of the run, 0 to 1
	Kernels     []string     `json:"kernels"`     // that counted the sample
}

// Difference is a task whose recount contradicts the ledger.
type Difference struct {
	Task     uint64   `json:"task"`
	Count    uint64   `json:"count,string"` // of the ledger
	Machines []string `json:"machines"`     // whose count it is
	Recount  uint64   `json:"recount,string"`
	Kernel   string   `json:"kernel"` // of the recount
}

// String returns what differs, for people.
func (d Difference) String() string {
	by := strings.Join(d.Machines, " and ")
	return fmt.Sprintf("task %d was counted %d by %s, kernel %s counts %d", d.Task, d.Count, cmp.Or(by, "the coordinator"), d.Kernel, d.Recount)
}

const (
	maxDifferences = 100
	namedInError   = 10
)

// recount counts a sample of a ledger's tasks again. It goes on after a difference. If there was any, the error wraps
// [queens.ErrContradiction] and names tasks, also if ctx ends; otherwise it may be the cause of ctx's end. What was counted
// is returned with any error.
func recount(ctx context.Context, s *ledger.State, sample Sample) (found Recounts, err error) {
	m, done := &s.Header().Manifest, s.NumberDone()
	index, err := split.NewIndex(ctx, m.Classes, split.MaxTasks)
	if err != nil {
		return found, err
	}
	shares, of := split.Shares(m), min(max(uint64(math.Ceil(sample.Share*float64(done)-1e-9)), 1), done)
	sample.OnProgress(0, of)
	var mu sync.Mutex // of found
	err = parallel.InOrderOn(ctx, sample.Threads, draw(s, of), func(ctx context.Context, task uint64) (none struct{}, err error) {
		d, err := countAgain(ctx, s, index, task)
		if err != nil {
			return none, err
		}
		mu.Lock()
		defer mu.Unlock()
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
		return none, nil
	}, func(struct{}) error { return nil })
	slices.Sort(found.Kernels)
	slices.SortFunc(found.Differences, func(a, b Difference) int { return cmp.Compare(a.Task, b.Task) })
	return found, cmp.Or(found.err(), err)
}

// draw yields that many tasks that are done, each once.
func draw(s *ledger.State, of uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		tasks := s.Header().Manifest.Tasks
		drawn := make([]bool, tasks)
		for of > 0 {
			task := rand.Uint64N(tasks)
			if drawn[task] || !s.Task(task).Done {
				continue
			}
			if !yield(task) {
				return
			}
			drawn[task] = true
			of--
		}
	}
}

// countAgain counts a task, and returns the counts of the ledger and of the recount, which may be equal.
func countAgain(ctx context.Context, s *ledger.State, index *split.Index, task uint64) (Difference, error) {
	tasks := index.Range(task, 1)
	if len(tasks) == 0 {
		return Difference{}, fmt.Errorf("%w: the split has no task %d", queens.ErrContradiction, task)
	}
	d := Difference{Task: task, Count: s.Task(task).Count}
	var kernels []string
	for _, c := range s.Counts(task) {
		kernels = append(kernels, c.Kernel)
		if c.Count == d.Count && !c.Recount && !slices.Contains(d.Machines, c.Machine) {
			d.Machines = append(d.Machines, c.Machine)
		}
	}
	again, err := count.One(ctx, kernel.Differing(kernels...), &tasks[0])
	d.Recount, d.Kernel = again.Count, again.Kernel
	return d, err
}

// err returns an error that names the first differences, or nil if there is none.
func (r *Recounts) err() error {
	if r.Differing == 0 {
		return nil
	}
	var texts []string
	for _, d := range r.Differences[:min(namedInError, len(r.Differences))] {
		texts = append(texts, d.String())
	}
	if more := r.Differing - uint64(len(texts)); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%w: %s", queens.ErrContradiction, strings.Join(texts, "; "))
}
