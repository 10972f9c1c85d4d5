// Package worker is the service that takes tasks, counts them and gives back the
// results. It keeps no state beyond the tasks it holds: a worker may die at any
// moment, and its tasks go to another when their leases lapse.
//
// Order is what makes that safe: the result is stored before the task is given up.
package worker

import (
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
	"nqueens/pkg/run"
)

// Queue lends tasks. It is called from one goroutine.
type Queue interface {
	// Next waits for a task and takes it. When ctx ends it returns an error, and
	// holds no task that it has not returned.
	Next(ctx context.Context) (queens.Task, run.Lease, error)
}

// Results stores results. It is safe for concurrent use.
type Results interface {
	// Publish returns nil when the result is stored.
	Publish(ctx context.Context, r *queens.Result) error
}

// Heartbeats tells coordinators that the worker lives.
type Heartbeats interface {
	PublishHeartbeat(h run.Heartbeat) error
}

// Config says who the worker is and how it counts.
type Config struct {
	Name    string // Unique among the workers of a cluster.
	Version string
	Kernel  kernel.Kernel
	Threads int
	// Lease is how long the queue lends a task without a word.
	Lease time.Duration
	// Grace is how long a search may go on when the worker is told to stop.
	Grace time.Duration
	Log   zerolog.Logger
}

// DefaultGrace lets short searches finish, and is short enough for a person who
// waits for the prompt.
const DefaultGrace = time.Second

// Validate reports the first thing wrong with the configuration.
func (c *Config) Validate() error {
	switch {
	case c.Name == "":
		return errors.New("a worker needs a name")
	case c.Kernel.New == nil:
		return errors.New("a worker needs a kernel")
	case c.Threads < 1:
		return fmt.Errorf("a worker needs at least 1 thread, not %d", c.Threads)
	case c.Lease <= 0 || c.Grace < 0:
		return fmt.Errorf("lease (%v) and grace (%v) must be positive", c.Lease, c.Grace)
	}
	return nil
}

// Worker is the service.
type Worker struct {
	cfg        Config
	queue      Queue
	results    Results
	heartbeats Heartbeats
	leases     leases

	flushes chan chan struct{} // each closed when a heartbeat is published
}

// New returns a worker that has not started.
func New(cfg Config, queue Queue, results Results, heartbeats Heartbeats) (*Worker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Worker{cfg: cfg, queue: queue, results: results, heartbeats: heartbeats, flushes: make(chan chan struct{})}, nil
}

// NewName returns a name for a worker on this machine, such as laptop-3f9a21.
func NewName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "worker"
	}
	var salt [3]byte
	rand.Read(salt[:]) // never fails, see crypto/rand
	return fmt.Sprintf("%.64s-%x", queens.Sanitize(host), salt)
}

// errStopping is why a search ends when the worker's grace is over.
var errStopping = errors.New("the worker stops")

// Run takes and counts tasks until ctx ends. Then it takes no more, hands back
// what it has not begun, gives searches and reports the time of its grace to end,
// hands back those that don't, and returns.
//
// A task passes three stages, each with goroutines of its own: taken from the
// queue (one ahead of need, so that no thread waits for the network), counted (one
// goroutine a thread), and reported.
func (w *Worker) Run(ctx context.Context) {
	// Two contexts: ctx ends the taking, work ends searches and reports.
	work, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(w.cfg.Grace, func() { abort(errStopping) })
	})
	defer stop()

	taken, counted := make(chan *heldTask), make(chan *heldTask)
	var taking, counting, reporting, keeping sync.WaitGroup
	taking.Go(func() { w.fetchLoop(ctx, taken) })
	for range w.cfg.Threads {
		counting.Go(func() { w.searchLoop(work, taken, counted) })
		reporting.Go(func() { w.reportLoop(work, counted) })
	}
	kept, release := context.WithCancel(context.WithoutCancel(ctx))
	keeping.Go(func() { w.renewLoop(kept) })
	keeping.Go(func() { w.heartbeatLoop(kept) })

	taking.Wait()
	close(taken)
	counting.Wait()
	close(counted)
	reporting.Wait()
	release()
	keeping.Wait()
}

// fetchLoop brings tasks until ctx ends.
func (w *Worker) fetchLoop(ctx context.Context, taken chan<- *heldTask) {
	var declining sync.WaitGroup
	defer declining.Wait()
	for {
		task, lease, err := w.queue.Next(ctx)
		if err != nil {
			return // ctx has ended: nothing else ends a queue
		}
		h := w.leases.add(task, lease)
		if slices.Contains(task.ExcludedWorkers, w.cfg.Name) {
			declining.Go(func() { w.decline(ctx, h) })
			continue
		}
		select {
		case taken <- h:
		case <-ctx.Done():
			w.release(h)
		}
	}
}

// declineDelay is how long a task that is for others is kept before it is handed back.
const declineDelay = time.Second

// decline hands back a task that this worker must not count. What is handed back is
// given out at once, to this worker again where no other waits for a task: the pause
// keeps the task from going back and forth without end.
func (w *Worker) decline(ctx context.Context, h *heldTask) {
	h.task.Prefixes = nil // they may be large, and such tasks many
	h.stage.Store(declined)
	select {
	case <-ctx.Done():
	case <-time.After(declineDelay):
	}
	w.release(h)
}

// searchLoop searches what is taken, on one thread.
func (w *Worker) searchLoop(work context.Context, taken <-chan *heldTask, counted chan<- *heldTask) {
	counter := w.cfg.Kernel.New()
	for h := range taken {
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

// retryInterval is the pause between tries to store a result.
const retryInterval = time.Second

// reportLoop stores the result of what is counted, and only then gives the task up. A
// result that can't be stored is held and tried again while work goes on.
func (w *Worker) reportLoop(work context.Context, counted <-chan *heldTask) {
	for h := range counted {
		err := w.results.Publish(work, &h.result)
		for err != nil && work.Err() == nil {
			w.leases.logStoreError(&w.cfg.Log, err)
			select {
			case <-work.Done():
			case <-time.After(retryInterval):
				err = w.results.Publish(work, &h.result)
			}
		}
		if err != nil {
			w.release(h)
			continue
		}
		if err := h.lease.Ack(work); err != nil {
			// The lease lapses and the task is counted again: the accounts see a
			// duplicate.
			w.cfg.Log.Debug().Err(err).Uint64("task", h.task.ID).Msg("task not given up")
		}
		w.leases.remove(h)
	}
}

func (w *Worker) release(h *heldTask) {
	if err := h.lease.Release(); err != nil {
		w.cfg.Log.Debug().Err(err).Uint64("task", h.task.ID).Msg("task not handed back, its lease will lapse")
	}
	w.leases.remove(h)
}
