package coordinator

import (
	"context"
	"slices"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
)

// maxBatch is the number of results that are recorded together.
const maxBatch = 1024

// receiveLoop passes the results of the run after a position from the stream to the event
// loop, which records them in batches, until ctx ends.
func (c *Coordinator) receiveLoop(ctx context.Context, after run.StreamPosition) error {
	return c.results.Read(ctx, c.run, after, func(r queens.Result, at run.StreamPosition) {
		send(ctx, c.deliveries, delivery{r, at})
	}, func() { close(c.caughtUp) })
}

// lookupLoop makes tasks from their ids, for pending results and disputes, until ctx ends.
// It works beside the event loop: in a large run that takes a while.
func (c *Coordinator) lookupLoop(ctx context.Context) error {
	for {
		select {
		case ids := <-c.lookups:
			slices.Sort(ids)
			err := split.Find(ctx, &c.collector.manifest, ids, func(task queens.Task) { send(ctx, c.found, task) })
			if err != nil && ctx.Err() == nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// send sends v, unless ctx ends first.
func send[T any](ctx context.Context, to chan<- T, v T) {
	select {
	case to <- v:
	case <-ctx.Done():
	}
}

// drain appends to batch what the buffer of the channel holds, up to maxBatch in all. Only one
// goroutine receives from it.
func drain[T any](batch []T, from <-chan T) []T {
	for len(batch) < maxBatch && len(from) > 0 {
		batch = append(batch, <-from)
	}
	return batch
}
