package coordinator

import (
	"context"
	"slices"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
)

// maxBatch is about the number of results that are recorded together. One transaction of the
// ledger costs as much time as some hundred results.
const maxBatch = 2048

// receiveLoop passes the results of the run after a position from the stream to the event
// loop, which records them in batches, until ctx ends.
func (c *Coordinator) receiveLoop(ctx context.Context, after run.StreamPosition) error {
	return c.results.Read(ctx, c.run, after, func(r queens.ChunkResult, at run.StreamPosition) {
		send(ctx, c.deliveries, delivery{result: r, position: at})
	}, func(asOf time.Time) {
		send(ctx, c.deliveries, delivery{caughtUp: asOf})
	})
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

// drain appends to batch what the buffer of the channel holds, until weigh of it is maxBatch in
// all. Only one goroutine receives from it.
func drain[T any](batch []T, from <-chan T, weigh func(*T) int) []T {
	weight := 0
	for i := range batch {
		weight += weigh(&batch[i])
	}
	for weight < maxBatch && len(from) > 0 {
		next := <-from
		weight += weigh(&next)
		batch = append(batch, next)
	}
	return batch
}

func (c *Coordinator) drainDeliveries(batch ...delivery) []delivery {
	return drain(batch, c.deliveries, func(d *delivery) int { return len(d.result.Counts) })
}

func (c *Coordinator) drainFound(batch ...queens.Task) []queens.Task {
	return drain(batch, c.found, func(*queens.Task) int { return 1 })
}
