package coordinator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/queens"
)

// slowTasks takes a second for a check, and finds nothing.
type slowTasks struct{ Tasks }

func (slowTasks) Has(context.Context, string, uint64, uint64) (queued, taken bool, err error) {
	time.Sleep(time.Second)
	return false, false, nil
}

// A chunk is missing as of the end of the check: a worker may store its result and acknowledge it
// while the request is on its way, so results until then must be read before it counts as lost.
func TestChunkIsMissingAsOfTheEndOfTheCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newTestCoordinator(t, 8, 2, queens.Mirror)
		c.tasks = slowTasks{}
		chunk := c.core.publishChunk(t).Chunk
		time.Sleep(c.cfg.CheckAfter)
		c.core.flight.Sweep(time.Now(), nil, flight.Busy, time.Time{})
		command, ok := c.core.flight.Next()
		for ok && command.Op != flight.Check { // others are planned
			command, ok = c.core.flight.Next()
		}
		if !ok || command.Chunk != chunk {
			t.Fatalf("the command is %+v (%v), want a check", command, ok)
		}
		o, _ := c.execute(t.Context(), &command)
		c.core.completed(time.Now(), &o)
		while := time.Now().Add(-time.Millisecond)
		time.Sleep(c.cfg.CheckAfter / sweeps)
		if s := c.core.flight.Sweep(time.Now(), nil, flight.Busy, while); len(s.Lost) > 0 {
			t.Error("the chunk is lost although its result may not be read yet")
		}
		if s := c.core.flight.Sweep(time.Now(), nil, flight.Busy, time.Now()); len(s.Lost) != 1 {
			t.Error("the chunk is not lost")
		}
	})
}
