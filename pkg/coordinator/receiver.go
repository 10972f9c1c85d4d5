package coordinator

import (
	"context"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// receiver passes results from the stream to the event loop, which records them in batches.
type receiver struct {
	deliveries chan delivery
	caughtUp   chan struct{} // closed after the last result that was stored at the start
}

// maxBatch is the number of results that are recorded together.
const maxBatch = 1024

func newReceiver() *receiver {
	return &receiver{deliveries: make(chan delivery, maxBatch), caughtUp: make(chan struct{})}
}

// run receives the results of a run after a position until ctx ends.
func (in *receiver) run(ctx context.Context, results Results, name string, after run.StreamPosition) error {
	return results.Read(ctx, name, after, func(r queens.Result, at run.StreamPosition) {
		select {
		case in.deliveries <- delivery{r, at}:
		case <-ctx.Done():
		}
	}, func() { close(in.caughtUp) })
}

// drain appends to batch what the channel holds, up to maxBatch in all.
func drain[T any](batch []T, from <-chan T) []T {
	for len(batch) < maxBatch {
		select {
		case v := <-from:
			batch = append(batch, v)
		default:
			return batch
		}
	}
	return batch
}
