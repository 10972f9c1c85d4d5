// Package worker is the service that takes tasks from a queue, counts them, and publishes the
// results. It keeps nothing but the tasks that it holds: a worker may die at any moment,
// and its tasks go to others when their leases lapse. That is safe because it stores a
// result before it acknowledges the task.
//
// The package does not choose a kernel or connect to a server.
package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/ratelimit"
	"nqueens/pkg/run"
)

// Queue lends tasks. It is called from one goroutine.
type Queue interface {
	// Next waits for a task and takes it. It fails only when ctx ends, and then holds no
	// task that it has not returned.
	Next(ctx context.Context) (queens.Task, run.Lease, error)
}

// Results stores results. It is safe for concurrent use.
type Results interface {
	// Publish returns nil when the result is stored.
	Publish(ctx context.Context, r *queens.Result) error
}

// Heartbeats tells the coordinators which workers live.
type Heartbeats interface {
	PublishHeartbeat(h run.Heartbeat) error
}

// Config configures a [Worker].
type Config struct {
	Name    string // Unique among the workers of a cluster.
	Version string // Version of the program.
	Kernel  kernel.Kernel
	Threads int // Tasks counted at once, at least 1.
	// Lease is how long the queue lends a task before the lease must be extended.
	Lease time.Duration
	// Grace is how long searches and reports may continue when the worker is stopped.
	Grace time.Duration
	Log   zerolog.Logger
}

// DefaultGrace lets short searches finish, and is short enough for a person at a prompt.
const DefaultGrace = time.Second

// Worker is the service.
type Worker struct {
	cfg        Config
	queue      Queue
	results    Results
	heartbeats Heartbeats
	flushes    chan chan struct{} // each is closed when a heartbeat has been published
	limiter    ratelimit.Limiter  // of store errors

	mu        sync.Mutex
	held      map[*heldTask]struct{}
	renewedAt time.Time // when renewLoop last extended leases
	stalled   int       // searches that did not advance then
}

// New returns a worker. It does not start it. Only Version and Grace may be zero.
func New(cfg Config, queue Queue, results Results, heartbeats Heartbeats) *Worker {
	return &Worker{
		cfg: cfg, queue: queue, results: results, heartbeats: heartbeats,
		held: make(map[*heldTask]struct{}), flushes: make(chan chan struct{}, cfg.Threads),
	}
}

// NewName returns a name for a worker on this machine, such as laptop-3f9a21.
func NewName() string {
	host, _ := os.Hostname() // empty if it fails
	var id [3]byte
	rand.Read(id[:]) // never fails, see crypto/rand
	return fmt.Sprintf("%.64s-%x", queens.Sanitize(cmp.Or(host, "worker")), id)
}

// errStopping ends searches and reports when the grace is over.
var errStopping = errors.New("the worker is stopping")

// Run takes and counts tasks until ctx ends. Then it takes no more, releases the tasks it
// has not begun, gives searches and reports the grace to finish, and releases the rest.
//
// A task passes three stages, each with its own goroutines: one fetches tasks, one ahead
// so that no thread waits for the network; one per thread searches; one per thread
// reports.
func (w *Worker) Run(ctx context.Context) {
	work, abort := context.WithCancelCause(context.WithoutCancel(ctx)) // of searches and reports
	defer abort(nil)
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(w.cfg.Grace, func() { abort(errStopping) })
	})
	defer stop()

	fetched, counted := make(chan *heldTask), make(chan *heldTask)
	var searching, reporting, renewing sync.WaitGroup
	for range w.cfg.Threads {
		searching.Go(func() { w.searchLoop(work, fetched, counted) })
		reporting.Go(func() { w.reportLoop(work, counted) })
	}
	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	renewing.Go(func() { w.renewLoop(holding) })
	renewing.Go(func() { w.heartbeatLoop(holding) })

	w.fetchLoop(ctx, fetched)
	close(fetched)
	searching.Wait()
	close(counted)
	reporting.Wait()
	release()
	renewing.Wait()
}

// fetchLoop takes tasks from the queue until ctx ends.
func (w *Worker) fetchLoop(ctx context.Context, fetched chan<- *heldTask) {
	var declining sync.WaitGroup
	defer declining.Wait()
	for {
		task, lease, err := w.queue.Next(ctx)
		if err != nil {
			return
		}
		h := w.hold(task, lease)
		if slices.Contains(task.ExcludedWorkers, w.cfg.Name) {
			declining.Go(func() { w.decline(ctx, h) })
			continue
		}
		select {
		case fetched <- h:
		case <-ctx.Done():
			w.release(h)
		}
	}
}

// declineDelay is how long a worker keeps a task that it must not count.
const declineDelay = time.Second

// decline releases a task that this worker must not count. A released task is delivered
// again at once, to this worker if no other waits for one: the delay keeps the task from
// going back and forth without end.
func (w *Worker) decline(ctx context.Context, h *heldTask) {
	h.task.Prefixes = nil // they may be large, and such tasks many
	h.stage.Store(declined)
	select {
	case <-ctx.Done():
	case <-time.After(declineDelay):
	}
	w.release(h)
}

// searchLoop counts fetched tasks, on one thread.
func (w *Worker) searchLoop(work context.Context, fetched <-chan *heldTask, counted chan<- *heldTask) {
	counter := w.cfg.Kernel.New()
	for h := range fetched {
		h.startedAt = time.Now()
		h.stage.Store(searching)
		w.flushHeartbeat(h)
		start := time.Now()
		n, err := counter.Count(work, &h.task.Board, h.task.Prefixes, &h.pulse)
		if err != nil {
			w.release(h)
			continue
		}
		h.result = queens.Result{
			Run:     h.task.Run,
			Task:    h.task.ID,
			Hash:    h.task.Hash(),
			Attempt: h.task.Attempt,
			Count:   n,
			Worker:  w.cfg.Name,
			Kernel:  w.cfg.Kernel.Name,
			Elapsed: time.Since(start),
		}
		h.stage.Store(reporting)
		counted <- h
	}
}

// reportLoop stores the results of counted tasks, and only then acknowledges the tasks.
func (w *Worker) reportLoop(work context.Context, counted <-chan *heldTask) {
	for h := range counted {
		if err := w.store(work, &h.result); err != nil {
			w.release(h)
			continue
		}
		if err := h.lease.Ack(work); err != nil {
			// The lease lapses, and the second count of the task will be a duplicate.
			w.cfg.Log.Debug().Err(err).Uint64("task", h.task.ID).Msg("can't acknowledge a task")
		}
		w.drop(h)
	}
}

// retryInterval is the pause between attempts to store a result.
const retryInterval = time.Second

// store stores a result, and retries until work ends.
func (w *Worker) store(work context.Context, r *queens.Result) error {
	for {
		err := w.results.Publish(work, r)
		if err == nil || work.Err() != nil {
			return err
		}
		if w.limiter.Allow("") {
			w.cfg.Log.Warn().Err(err).Int("held", len(w.list())).Msg("can't store results, holding them and trying again")
		}
		select {
		case <-work.Done():
			return err
		case <-time.After(retryInterval):
		}
	}
}

// release gives a task back to the queue.
func (w *Worker) release(h *heldTask) {
	if err := h.lease.Release(); err != nil {
		w.cfg.Log.Debug().Err(err).Uint64("task", h.task.ID).Msg("can't release a task: its lease will lapse")
	}
	w.drop(h)
}
