package coordinator

import (
	"context"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/queens"
)

// op is what dispatchLoop does with a chunk.
type op int

const (
	opPublish op = iota // publish the chunk
	opCheck             // find out whether its message is still in the queue
	opDelete            // delete its message, so that no worker gets it
)

// request is one operation on one chunk. dispatchLoop fills in the outcome.
type request struct {
	op           op
	chunk, first uint64        // id of the chunk, and of its first task
	orphan       bool          // the chunk is not in flight any more
	message      *queens.Chunk // to publish
	streamSeq    uint64        // of the chunk's message
	at           time.Time     // when the last attempt ended
	published    bool          // outcome of opPublish: streamSeq is that of the new message
	missing      bool          // outcome of opCheck: the message was not in the queue at that time
	taken        bool          // outcome of opCheck: it was, and a worker had taken it
}

const (
	// dispatchWorkers is the number of concurrent requests: round-trip latency dominates.
	dispatchWorkers = 128
	// The pause after a request to the queue failed grows from the first to the last, with
	// jitter: an overloaded server gets fewer requests.
	firstPause = 500 * time.Millisecond
	lastPause  = 15 * time.Second
)

// dispatchLoop publishes, checks and deletes chunks in the queue, several at once, and returns
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
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		message, err := c.try(ctx, r)
		r.at = time.Now() // the worker may have stored the result while the request was on its way
		if err == nil || ctx.Err() != nil {
			return
		}
		if c.limiter.Allow("error") {
			c.cfg.Log.Warn().Err(err).Uint64("task", r.first).Msg(message)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// try executes a request once. The message is for the log, if there is an error.
func (c *Coordinator) try(ctx context.Context, r *request) (message string, err error) {
	switch r.op {
	case opPublish:
		seq, err := c.tasks.Publish(ctx, r.message)
		if err == nil {
			r.streamSeq, r.published = seq, true
		}
		return "can't publish tasks, trying again", err
	case opDelete:
		return "can't delete a task from the queue, trying again", c.tasks.Delete(ctx, c.run, r.chunk, r.streamSeq)
	case opCheck:
		// A queue that does not answer tells nothing: the window checks again later.
		queued, taken, err := c.tasks.Has(ctx, c.run, r.chunk, r.streamSeq)
		r.missing, r.taken = err == nil && !queued, err == nil && queued && taken
	}
	return "", nil
}
