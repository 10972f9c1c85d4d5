package coordinator

import (
	"context"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// receiver takes the results that come from the bus, for the loop to enter in groups.
type receiver struct {
	deliveries chan delivery
	caughtUp   chan struct{} // closed when all is received that was there at first
}

// maxBatch is how many results are entered into the ledger together.
const maxBatch = 1024

func newReceiver() *receiver {
	return &receiver{deliveries: make(chan delivery, maxBatch), caughtUp: make(chan struct{})}
}

// execute takes results until ctx ends.
func (in *receiver) run(ctx context.Context, results Results, name string, after run.StreamPosition) error {
	return results.Read(ctx, name, after, func(r queens.Result, at run.StreamPosition) {
		select {
		case in.deliveries <- delivery{r, at}:
		case <-ctx.Done():
		}
	}, func() { close(in.caughtUp) })
}

// more returns the first result and those that are there already.
func (in *receiver) more(first delivery) []delivery {
	return append([]delivery{first}, in.drain()...)
}

// drain returns the results that are there already, as many as go together.
func (in *receiver) drain() []delivery {
	var batch []delivery
	for len(batch) < maxBatch-1 {
		select {
		case a := <-in.deliveries:
			batch = append(batch, a)
		default:
			return batch
		}
	}
	return batch
}
