package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
)

// Recounts are what [Recount] has counted again.
type Recounts struct {
	Recounted uint64 `json:"recounted"` // tasks that were counted again
	Differing uint64 `json:"differing"` // recounted tasks whose recount contradicts the ledger
	// at most 100 of these tasks, those that were found first, by task, see below
	Differences []run.Difference `json:"differences"`
	// of the recounted tasks in the estimated work of the run, 0 to 1
	Share   float64  `json:"share"`
	Seed    uint64   `json:"seed,string"` // of the sample; --seed repeats it
	Kernels []string `json:"kernels"`     // that counted the sample
}

// Recount counts a sample of the ledger's tasks again. It makes the tasks from the manifest, and compares
// each result with the ledger's. It goes on after a difference. If there was any, the error wraps
// [run.ErrContradiction] and names the tasks, also if ctx ends. Without a difference, the error may be the
// cause of ctx's end. Recount returns what it has counted with any error.
func Recount(ctx context.Context, l *ledger.Ledger, s Sample) (Recounts, error) {
	m := l.Header().Manifest
	index, err := split.NewIndex(ctx, &m)
	if err != nil {
		return Recounts{Seed: s.Seed}, err
	}
	recounting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &recount{
		ledger: l, manifest: &m, index: index, sample: &s,
		of: sampleSize(l, &s), shares: split.Shares(&m), kernels: make(map[string]struct{}), stop: stop,
	}
	r.sample.onProgress(0, r.of)
	if s.Limit > 0 {
		defer time.AfterFunc(s.Limit, r.expire).Stop()
	}
	err = parallel.InOrderOn(recounting, s.Threads, draw(l, m.Tasks, &s), r.count, func(struct{}) error { return nil })
	if errors.Is(err, errExpired) {
		err = nil
	}
	found := r.found()
	switch differ := found.err(); {
	case differ == nil:
	case err == nil || ctx.Err() != nil:
		err = differ
	default:
		err = fmt.Errorf("%w; %w", differ, err)
	}
	return found, err
}

// recount is a recount in progress, shared by its threads.
type recount struct {
	ledger   *ledger.Ledger
	manifest *queens.Manifest
	index    *split.Index
	sample   *Sample
	shares   []float64
	stop     context.CancelCauseFunc // ends all searches

	of          uint64 // tasks of the sample
	mu          sync.Mutex
	expired     bool
	done        uint64
	share       float64
	kernels     map[string]struct{}
	differing   uint64
	differences []run.Difference
}

// errExpired is why searches end when the time is over.
var errExpired = errors.New("the time of the recount is over")

// expire ends the recount, once a task is counted.
func (r *recount) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.expired = true; r.done > 0 {
		r.stop(errExpired)
	}
}

// count counts a task and compares it with the ledger.
func (r *recount) count(ctx context.Context, id uint64) (none struct{}, err error) {
	task, ok := r.index.Task(id)
	if !ok {
		return none, fmt.Errorf("%w: the split has no task %d", run.ErrContradiction, id)
	}
	accepted, _, err := r.ledger.Result(id)
	if err != nil {
		return none, err
	}
	k := kernel.Differing(accepted.Kernel)
	if r.sample.Kernel != nil {
		k = *r.sample.Kernel
	}
	again, err := count.One(ctx, k, &task)
	if err == nil {
		r.note(&accepted, &again)
	}
	return none, err
}

// note notes that the task of an accepted result is counted again.
func (r *recount) note(accepted *run.Result, again *run.TaskCount) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	r.share += r.shares[r.manifest.ClassOf(accepted.Task)]
	r.kernels[again.Kernel] = struct{}{}
	if again.Count != accepted.Count || again.Hash != accepted.Hash {
		r.noteDifference(accepted, again)
	}
	r.sample.onProgress(r.done, r.of)
	if r.expired {
		r.stop(errExpired)
	}
}

func (r *recount) noteDifference(accepted *run.Result, again *run.TaskCount) {
	r.differing++
	if len(r.differences) == run.MaxSurveyed {
		return
	}
	d := run.Difference{
		Task: accepted.Task, Count: accepted.Count, Worker: accepted.Worker, Key: accepted.Key, Kernel: accepted.Kernel,
		OtherTask: again.Hash != accepted.Hash, Recount: again.Count, RecountKernel: again.Kernel,
	}
	r.differences = append(r.differences, d)
	if r.sample.OnDifference != nil {
		r.sample.OnDifference(d)
	}
}

// found returns what was counted, after all threads have ended.
func (r *recount) found() Recounts {
	slices.SortFunc(r.differences, func(a, b run.Difference) int { return cmp.Compare(a.Task, b.Task) })
	return Recounts{
		Recounted: r.done, Differing: r.differing, Differences: r.differences,
		Share: min(r.share, 1), Seed: r.sample.Seed, Kernels: slices.Sorted(maps.Keys(r.kernels)),
	}
}

// err returns an error that names the first differences, or nil if there is none.
func (r *Recounts) err() error {
	const named = 10
	if r.Differing == 0 {
		return nil
	}
	var texts []string
	for i := range r.Differences[:min(named, len(r.Differences))] {
		texts = append(texts, r.Differences[i].String())
	}
	if more := r.Differing - uint64(len(texts)); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%w: %s", run.ErrContradiction, strings.Join(texts, "; "))
}
