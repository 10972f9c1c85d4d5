package coordinator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
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
		c, _ := newTestCoordinator(t)
		c.tasks = slowTasks{}
		chunk := c.window.publish(t).chunk
		time.Sleep(c.cfg.CheckAfter)
		c.window.sweep(nil, false, time.Time{})
		r, ok := c.window.nextRequest()
		if !ok || r.op != opCheck {
			t.Fatalf("request %+v (%v), want a check", r, ok)
		}
		c.window.sent()
		c.execute(t.Context(), &r)
		c.window.completed(r)
		while := time.Now().Add(-time.Millisecond)
		time.Sleep(c.window.sweepInterval())
		if lost, _ := c.window.sweep(nil, false, while); len(lost) > 0 || c.window.chunks[chunk] == nil {
			t.Error("the chunk is lost although its result may not be read yet")
		}
		if lost, _ := c.window.sweep(nil, false, time.Now()); len(lost) != 1 {
			t.Error("the chunk is not lost")
		}
	})
}
