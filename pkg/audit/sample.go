package audit

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
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
	Seed    uint64  // of the order: the same seed draws the same tasks in the same order
	Threads int     // at least 1
	// OnProgress, if not nil, is called when the recount begins and after each task, one call at a time, with the number of
	// tasks that are counted again, and of all that were drawn.
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

// sampling is a recount in progress, shared by its threads.
type sampling struct {
	state  *ledger.State
	index  *split.Index
	sample Sample
	of     uint64 // tasks of the sample
	shares []float64

	mu      sync.Mutex // of all below
	kernels map[string]bool
	found   Recounts
}

// recount counts a sample of a ledger's tasks again. It goes on after a difference. If there was any, the error wraps
// [queens.ErrContradiction] and names tasks, also if ctx ends; otherwise it may be the cause of ctx's end. What was counted
// is returned with any error.
func recount(ctx context.Context, s *ledger.State, sample Sample) (Recounts, error) {
	m := &s.Header().Manifest
	r := &sampling{state: s, sample: sample, shares: split.Shares(m), kernels: make(map[string]bool)}
	var err error
	if r.index, err = split.NewIndex(ctx, m.Classes, split.MaxTasks); err != nil {
		return r.found, err
	}
	done := s.NumberDone()
	r.of = min(max(uint64(math.Ceil(sample.Share*float64(done)-1e-9)), 1), done)
	r.progress()
	err = parallel.InOrderOn(ctx, sample.Threads, r.draw(m.Tasks), r.count, func(struct{}) error { return nil })
	r.found.Share, r.found.Kernels = min(r.found.Share, 1), slices.Sorted(maps.Keys(r.kernels))
	slices.SortFunc(r.found.Differences, func(a, b Difference) int { return cmp.Compare(a.Task, b.Task) })
	return r.found, cmp.Or(r.found.err(), err)
}

func (r *sampling) progress() {
	if r.sample.OnProgress != nil {
		r.sample.OnProgress(r.found.Recounted, r.of)
	}
}

// draw yields the tasks of the sample, each once. It holds a bit a task.
func (r *sampling) draw(tasks uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		rng, drawn := rand.New(rand.NewPCG(r.sample.Seed, 0)), make([]uint64, tasks/64+1)
		for left := r.of; left > 0; {
			task := rng.Uint64N(tasks)
			word, bit := &drawn[task/64], uint64(1)<<(task%64)
			if *word&bit != 0 || !r.state.Task(task).Done {
				continue
			}
			if !yield(task) {
				return
			}
			*word |= bit
			left--
		}
	}
}

// count counts a task and compares it with the ledger.
func (r *sampling) count(ctx context.Context, id uint64) (none struct{}, err error) {
	tasks := r.index.Range(id, 1)
	if len(tasks) == 0 {
		return none, fmt.Errorf("%w: the split has no task %d", queens.ErrContradiction, id)
	}
	recorded := r.state.Task(id).Count
	var kernels, machines []string
	for _, c := range r.state.Counts(id) {
		kernels = append(kernels, c.Kernel)
		if c.Count == recorded && c.Machine != "" && !slices.Contains(machines, c.Machine) {
			machines = append(machines, c.Machine)
		}
	}
	again, err := count.One(ctx, kernel.Differing(kernels...), &tasks[0])
	if err != nil {
		return none, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found.Recounted++
	r.found.Share += r.shares[r.state.Header().Manifest.ClassOf(id)]
	r.kernels[again.Kernel] = true
	if again.Count != recorded {
		if r.found.Differing++; len(r.found.Differences) < maxDifferences {
			r.found.Differences = append(r.found.Differences, Difference{id, recorded, machines, again.Count, again.Kernel})
		}
	}
	r.progress()
	return none, nil
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
