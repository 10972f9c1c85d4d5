package coordinator

import (
	"context"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/queens"
	"nqueens/pkg/ratelimit"
)

// dispatcher publishes, checks and deletes tasks in the queue, several at once, and
// reports the outcome of each request.
type dispatcher struct {
	tasks     Tasks
	log       zerolog.Logger
	requests  chan request
	completed chan request
	limiter   ratelimit.Limiter // of logged errors
}

// op is what the dispatcher does with a task.
type op int

const (
	opPublish op = iota // publish the task
	opCheck             // find out whether its message is still in the queue
	opDelete            // delete its message, so that no worker gets it
)

// request is one operation on one task. The dispatcher fills in the outcome.
type request struct {
	op        op
	task      queens.Task
	streamSeq uint64 // of the task's message
	published bool   // outcome of opPublish: streamSeq is that of the new message
	missing   bool   // outcome of opCheck: the message is not in the queue
}

const (
	// dispatchWorkers is the number of concurrent requests: round-trip latency dominates.
	dispatchWorkers = 16
	// retryInterval is the pause after a failed request to the queue.
	retryInterval = time.Second
)

func newDispatcher(tasks Tasks, log zerolog.Logger) *dispatcher {
	return &dispatcher{tasks: tasks, log: log, requests: make(chan request), completed: make(chan request)}
}

// run executes requests until ctx ends.
func (d *dispatcher) run(ctx context.Context) error {
	var group errgroup.Group
	for range dispatchWorkers {
		group.Go(func() error {
			for {
				select {
				case r := <-d.requests:
					d.execute(ctx, &r)
					send(ctx, d.completed, r)
				case <-ctx.Done():
					return nil
				}
			}
		})
	}
	return group.Wait()
}

// execute tries until the request succeeds or ctx ends.
func (d *dispatcher) execute(ctx context.Context, r *request) {
	for {
		message, err := d.try(ctx, r)
		if err == nil || ctx.Err() != nil {
			return
		}
		if d.limiter.Allow("error") {
			d.log.Warn().Err(err).Uint64("task", r.task.ID).Msg(message)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryInterval):
		}
	}
}

// try executes a request once. The message is for the log, if there is an error.
func (d *dispatcher) try(ctx context.Context, r *request) (message string, err error) {
	switch r.op {
	case opPublish:
		seq, err := d.tasks.Publish(ctx, &r.task)
		if err == nil {
			r.streamSeq, r.published = seq, true
		}
		return "can't publish tasks, trying again", err
	case opDelete:
		return "can't delete a task from the queue, trying again", d.tasks.Delete(ctx, &r.task, r.streamSeq)
	case opCheck:
		// A queue that does not answer tells nothing: the window checks again later.
		queued, err := d.tasks.Has(ctx, &r.task, r.streamSeq)
		r.missing = err == nil && !queued
	}
	return "", nil
}
