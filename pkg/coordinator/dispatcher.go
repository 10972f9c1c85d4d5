package coordinator

import (
	"context"
	"time"

	"nqueens/pkg/backoff"
	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/run"
)

const (
	// dispatchers is the number of concurrent requests to the queue: round-trip latency dominates.
	dispatchers = 128
	// The pause after a request to the queue failed grows from the first to the last: an overloaded
	// server gets fewer requests.
	firstPause = 500 * time.Millisecond
	lastPause  = 15 * time.Second
)

// outcome is what has become of a command of flight.
type outcome struct {
	flight.Command
	sequence      uint64    // of the message, if the chunk was published
	asked         time.Time // when the queue was asked for the chunk
	queued, taken bool      // the answer
	failed        bool      // there was none
}

// completed takes up what has become of a command.
func (c *Coordinator) completed(now time.Time, o *outcome) {
	c.dispatched--
	c.core.completed(now, o)
	if o.Op == flight.Publish {
		c.announceWork(now)
	}
}

func (c *core) completed(now time.Time, o *outcome) {
	switch {
	case o.Op == flight.Publish:
		c.figures.published++
		c.flight.Published(now, o.Chunk, o.sequence)
	case o.Op == flight.Delete:
		c.flight.Deleted(now, o.Chunk)
	case o.failed:
		c.flight.CheckFailed(now, o.Chunk)
	default:
		c.flight.Checked(now, o.Chunk, o.asked, o.queued, o.taken)
	}
}

// execute tries until a command is carried out; ok is false if ctx ends before.
func (c *Coordinator) execute(ctx context.Context, command *flight.Command) (o outcome, ok bool) {
	for retry := (backoff.Backoff{Least: firstPause, Most: lastPause}); ; {
		o, message, err := c.try(ctx, command)
		if ctx.Err() != nil {
			return o, false
		}
		if err == nil {
			return o, true
		}
		if c.limiter.Allow("error") {
			c.cfg.Log.Warn().Err(err).Uint64("task", command.First).Msg(message)
		}
		select {
		case <-ctx.Done():
			return o, false
		case <-time.After(retry.Pause()):
		}
	}
}

// try carries out a command once. The message is for the log, if there is an error.
func (c *Coordinator) try(ctx context.Context, command *flight.Command) (o outcome, message string, err error) {
	o.Command = *command
	switch command.Op {
	case flight.Publish:
		o.sequence, err = c.tasks.Publish(ctx, c.core.message(command))
		return o, "can't publish tasks, trying again", err
	case flight.Delete:
		return o, "can't delete a task from the queue, trying again", c.tasks.Delete(ctx, c.run, command.Chunk, command.Sequence)
	}
	// A queue that does not answer tells nothing: the chunk is checked again later.
	queued, taken, err := c.tasks.Has(ctx, c.run, command.Chunk, command.Sequence)
	o.queued, o.taken, o.failed = queued, taken, err != nil
	o.asked = time.Now() // the worker may have stored the result while the request was on its way
	return o, "", nil
}

// message makes the message of a chunk. Of the core it needs what never changes.
func (c *core) message(command *flight.Command) *run.Chunk {
	m := &run.Chunk{Run: c.run, Manifest: c.manifest.Hash, ID: command.Chunk, First: command.First, Suspect: command.Suspect}
	for _, task := range c.index.Range(command.First, command.Tasks) {
		m.Board = task.Board
		m.Tasks = append(m.Tasks, task.Prefixes)
	}
	return m
}
