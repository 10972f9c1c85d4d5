package coordinator

import (
	"context"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// inbox takes the results that come from the bus, for the loop to enter in groups.
type inbox struct {
	arrivals chan arrival
	caughtUp chan struct{} // closed when all is received that was there at first
}

// maxGroup is how many results are entered into the ledger together.
const maxGroup = 1024

func newInbox() *inbox {
	return &inbox{arrivals: make(chan arrival, maxGroup), caughtUp: make(chan struct{})}
}

// receive takes results until ctx ends.
func (in *inbox) receive(ctx context.Context, bus Bus, name string, after run.StreamPosition) error {
	return bus.Results(ctx, name, after, func(r queens.Result, at run.StreamPosition) {
		select {
		case in.arrivals <- arrival{r, at}:
		case <-ctx.Done():
		}
	}, func() { close(in.caughtUp) })
}

// more returns the first result and those that are there already.
func (in *inbox) more(first arrival) []arrival {
	return append([]arrival{first}, in.rest()...)
}

// rest returns the results that are there already, as many as go together.
func (in *inbox) rest() []arrival {
	var batch []arrival
	for len(batch) < maxGroup-1 {
		select {
		case a := <-in.arrivals:
			batch = append(batch, a)
		default:
			return batch
		}
	}
	return batch
}
