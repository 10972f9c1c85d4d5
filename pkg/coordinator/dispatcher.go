package coordinator

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/queens"
)

// op is what dispatchLoop does with a task.
type op int

const (
	opPublish op = iota // publish the task
	opCheck             // find out whether its message is still in the queue
	opDelete            // delete its message, so that no worker gets it
)

// request is one operation on one task. dispatchLoop fills in the outcome.
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

// dispatchLoop publishes, checks and deletes tasks in the queue, several at once, and returns
// each request with its outcome, until ctx ends.
func (c *Coordinator) dispatchLoop(ctx context.Context) error {
	var group errgroup.Group
	for range dispatchWorkers {
		group.Go(func() error {
			for {
				select {
				case r := <-c.requests:
					c.execute(ctx, &r)
					send(ctx, c.completed, r)
				case <-ctx.Done():
					return nil
				}
			}
		})
	}
	return group.Wait()
}

// execute tries until the request succeeds or ctx ends.
func (c *Coordinator) execute(ctx context.Context, r *request) {
	for {
		message, err := c.try(ctx, r)
		if err == nil || ctx.Err() != nil {
			return
		}
		if c.limiter.Allow("error") {
			c.cfg.Log.Warn().Err(err).Uint64("task", r.task.ID).Msg(message)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryInterval):
		}
	}
}

// try executes a request once. The message is for the log, if there is an error.
func (c *Coordinator) try(ctx context.Context, r *request) (message string, err error) {
	switch r.op {
	case opPublish:
		seq, err := c.tasks.Publish(ctx, &r.task)
		if err == nil {
			r.streamSeq, r.published = seq, true
		}
		return "can't publish tasks, trying again", err
	case opDelete:
		return "can't delete a task from the queue, trying again", c.tasks.Delete(ctx, &r.task, r.streamSeq)
	case opCheck:
		// A queue that does not answer tells nothing: the window checks again later.
		queued, err := c.tasks.Has(ctx, &r.task, r.streamSeq)
		r.missing = err == nil && !queued
	}
	return "", nil
}
