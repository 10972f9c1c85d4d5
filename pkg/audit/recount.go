package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Sample selects tasks of a ledger to count again, and how. They are drawn in a random order,
// without replacement, each of the counted tasks with the same chance.
type Sample struct {
	// Share of the counted tasks, 0 to 1, rounded up; at least one task.
	Share float64
	// Limit is when to end if the share is not reached before, but not before a task is counted.
	// 0 is no limit.
	Limit time.Duration
	// Seed of the order: the same seed draws the same tasks in the same order.
	Seed uint64
	// Kernel counts the tasks; if nil, for each the [kernel.Other] than that which counted it.
	Kernel  *kernel.Kernel
	Threads int // At least 1.
	// Progress, if not nil, is updated during the recount.
	Progress *Progress
}

// Recounted is what [Recount] has counted again, and found to agree.
type Recounted struct {
	Tasks   uint64
	Of      uint64   // Counted tasks of the ledger.
	Share   float64  // Estimated share of the tasks in the work of the whole run.
	Kernels []string // That counted, sorted.
}

// Recount counts a sample of the ledger's tasks again. It makes the tasks from the manifest,
// and compares each count with the ledger's. If they differ, the error wraps
// [queens.ErrContradiction] and names the task, both counts, the worker and the kernels;
// otherwise it may be the cause of ctx's end. It returns the recounted tasks with any error.
func Recount(ctx context.Context, l *ledger.Ledger, s Sample) (Recounted, error) {
	m := l.Header().Manifest
	index, err := split.NewIndex(ctx, &m)
	if err != nil {
		return Recounted{Of: l.Len()}, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &recounter{
		ledger: l, manifest: &m, index: index, sample: &s, draw: newDraw(l, &m, &s),
		shares: split.Shares(&m), kernels: make(map[string]struct{}), stop: stop,
	}
	s.Progress.start(r.draw.left, s.Limit)
	if s.Limit > 0 {
		defer time.AfterFunc(s.Limit, r.expire).Stop()
	}
	group, ctx := errgroup.WithContext(ctx)
	for range s.Threads {
		group.Go(func() error { return r.run(ctx) })
	}
	err = group.Wait()
	return Recounted{
		Tasks: r.done, Of: l.Len(), Share: min(r.share, 1), Kernels: slices.Sorted(maps.Keys(r.kernels)),
	}, err
}

// recounter is a recount in progress, shared by its threads.
type recounter struct {
	ledger   *ledger.Ledger
	manifest *queens.Manifest
	index    *split.Index
	sample   *Sample
	shares   []float64
	stop     context.CancelCauseFunc // ends all searches

	mu      sync.Mutex
	draw    *draw
	expired bool
	begun   bool // a task was drawn
	done    uint64
	share   float64
	kernels map[string]struct{}
}

// errExpired is why searches end when the time is over.
var errExpired = errors.New("the time of the recount is over")

// expire ends the recount, once a task is counted.
func (r *recounter) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.expired = true; r.done > 0 {
		r.stop(errExpired)
	}
}

// next draws a task.
func (r *recounter) next() (uint64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.expired && r.begun {
		return 0, false
	}
	r.begun = true
	return r.draw.next()
}

// agrees notes that a count agreed.
func (r *recounter) agrees(task uint64, kernel string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	r.share += r.shares[r.manifest.ClassOf(task)]
	r.kernels[kernel] = struct{}{}
	r.sample.Progress.set(r.done)
	if r.expired {
		r.stop(errExpired)
	}
}

// run counts tasks until there are no more, the time is over, or the first error.
func (r *recounter) run(ctx context.Context) (err error) {
	counters := make(map[string]kernel.Counter)
	defer func() {
		for name, c := range counters {
			if failed := c.Close(); failed != nil {
				err = errors.Join(err, fmt.Errorf("close kernel %s: %w", name, failed))
			}
		}
	}()
	for {
		if ctx.Err() != nil {
			return unlessExpired(context.Cause(ctx))
		}
		id, ok := r.next()
		if !ok {
			return nil
		}
		if err := r.recount(ctx, id, counters); err != nil {
			return unlessExpired(err)
		}
	}
}

// unlessExpired returns nil for errExpired, and other errors as they are.
func unlessExpired(err error) error {
	if errors.Is(err, errExpired) {
		return nil
	}
	return err
}

// recount counts a task with one of the thread's counters.
func (r *recounter) recount(ctx context.Context, id uint64, counters map[string]kernel.Counter) error {
	task, ok := r.index.Task(id)
	if !ok {
		return fmt.Errorf("%w: the split has no task %d", queens.ErrContradiction, id)
	}
	result, _, err := resultOf(r.ledger, &task)
	if err != nil {
		return err
	}
	k := r.sample.kernel(&result, r.manifest.N)
	counter := counters[k.Name]
	if counter == nil {
		if counter, err = k.New(); err != nil {
			return fmt.Errorf("kernel %s: %w", k.Name, err)
		}
		counters[k.Name] = counter
	}
	counted, err := counter.Count(ctx, &task.Board, task.Prefixes, new(atomic.Uint64))
	if err != nil {
		return err
	}
	if counted != result.Count {
		return fmt.Errorf("%w: task %d was counted %d by %s (%s), kernel %s counts %d",
			queens.ErrContradiction, id, result.Count, result.Worker, result.Kernel, counter.LastKernel(), counted)
	}
	r.agrees(id, counter.LastKernel())
	return nil
}

// kernel returns the kernel that counts the task of a result again.
func (s *Sample) kernel(r *queens.Result, n int) kernel.Kernel {
	if s.Kernel != nil {
		return *s.Kernel
	}
	return kernel.Other(n, r.Kernel)
}

// draw draws the counted tasks of a ledger. It holds a bit per task.
type draw struct {
	ledger *ledger.Ledger
	tasks  uint64
	rng    *rand.Rand
	drawn  []uint64 // a bit per task
	left   uint64   // tasks still to draw
}

func newDraw(l *ledger.Ledger, m *queens.Manifest, s *Sample) *draw {
	const rounding = 1e-9 // of the product below
	return &draw{
		ledger: l, tasks: m.Tasks, rng: rand.New(rand.NewPCG(s.Seed, 0)), drawn: make([]uint64, m.Tasks/64+1),
		left: min(max(uint64(math.Ceil(s.Share*float64(l.Len())-rounding)), 1), l.Len()),
	}
}

// next returns a task that was not drawn before, while there are some left to draw.
func (d *draw) next() (uint64, bool) {
	for d.left > 0 {
		id := d.rng.Uint64N(d.tasks)
		word, bit := &d.drawn[id/64], uint64(1)<<(id%64)
		if *word&bit == 0 && d.ledger.Has(id) {
			*word |= bit
			d.left--
			return id, true
		}
	}
	return 0, false
}

// Progress is how far a recount is. Other goroutines may read it at any time.
type Progress struct {
	mu       sync.Mutex
	done, of uint64
	started  time.Time
	limit    time.Duration
}

func (p *Progress) start(of uint64, limit time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of, p.started, p.limit = of, time.Now(), limit
}

func (p *Progress) set(done uint64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = done
}

// Get returns how many tasks of how many are counted again, and about how long the rest takes:
// 0 if that is not known. of is 0 before the recount begins.
func (p *Progress) Get() (done, of uint64, left time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	elapsed := time.Since(p.started)
	if p.done > 0 {
		left = time.Duration(float64(elapsed) / float64(p.done) * float64(p.of-p.done))
	}
	if p.limit > 0 {
		rest := max(p.limit-elapsed, 0)
		if p.done == 0 || rest < left {
			left = rest
		}
	}
	return p.done, p.of, left
}

// maxRecountN is the largest side that RecountAll counts: that takes only seconds.
const maxRecountN = 16

// MirrorImage is how [RecountAll] counts a board with placed queens.
const MirrorImage = "mirror-image"

// RecountAll counts the whole board again by another symmetry than that of the run, and
// returns that symmetry. If queens were placed beforehand, it mirrors them left to right
// and returns [MirrorImage]. If the board is too large it returns "" and counts nothing.
// The error wraps [queens.ErrContradiction] if the totals differ.
func RecountAll(ctx context.Context, m *queens.Manifest, total *big.Int, k kernel.Kernel, threads int) (string, error) {
	if m.N > maxRecountN {
		return "", nil
	}
	job := count.Job{N: m.N, Symmetry: queens.Mirror, Kernel: k, Threads: threads}
	if m.Symmetry == queens.Mirror {
		job.Symmetry = queens.Full
	}
	by, how := string(job.Symmetry), "by symmetry "+string(job.Symmetry)
	if len(m.Placed) > 0 {
		by, how = MirrorImage, "with the placed queens mirrored"
		job.Symmetry = queens.None
		for _, s := range m.Placed {
			job.Placed = append(job.Placed, s.Mirrored(m.N))
		}
	}
	recounted, err := count.Run(ctx, job)
	if err == nil && recounted.Cmp(total) != 0 {
		err = fmt.Errorf("%w: the ledger's total is %d, %s it is %d", queens.ErrContradiction, total, how, recounted)
	}
	return by, err
}
