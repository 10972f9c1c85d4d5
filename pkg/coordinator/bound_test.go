package coordinator

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/run"
)

// A coordinator says what bounds its run: messages while chunks wait for idle threads, the tail when
// workers hold all that are left and threads are idle, and the ledger when results are unread.
func TestMeasureBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{t: t, rng: rand.New(rand.NewPCG(1, 2)), folder: t.TempDir(), created: time.Now()}
		s.create()
		defer s.stop()
		c := s.c
		c.reconcile()
		seconds := func(n int, want run.Bound, caughtUp bool, beat func() run.Heartbeat) {
			t.Helper()
			for range n {
				if caughtUp {
					c.caughtUp = time.Now()
				}
				c.cfg.Roster.ObserveHeartbeat(beat())
				c.updateBeat()
				c.measureBound()
				time.Sleep(time.Second)
			}
			if got := c.progress().Bound; got != want {
				t.Errorf("bounded by %q, want %q", got, want)
			}
		}
		idle := func() run.Heartbeat { return run.Heartbeat{Worker: "w", Threads: 2} }
		seconds(11, run.ByMessages, true, idle) // no task is published yet
		for !c.window.exhausted || c.window.next != nil {
			ready, _ := c.window.fill()
			s.must(c.record(ready))
			s.request()
		}
		seconds(11, run.ByMessages, true, idle) // all chunks wait in the queue
		holding := func(searching int) func() run.Heartbeat {
			return func() run.Heartbeat {
				h := idle()
				for id := range c.window.chunks {
					h.Held = append(h.Held, run.HeldChunk{Run: c.run, Chunk: id, Searching: len(h.Held) < searching})
				}
				return h
			}
		}
		seconds(11, run.ByTail, true, holding(1))
		seconds(11, run.BySearch, true, holding(2))
		seconds(30, run.ByLedger, false, holding(0))
	})
}
