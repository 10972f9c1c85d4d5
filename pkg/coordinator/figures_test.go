package coordinator

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A coordinator says what bounds its run: messages while chunks wait for idle threads, the tail when
// workers hold all that are left and threads are idle, and the ledger when results are unread.
func TestMeasureBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		coordinator, _ := newTestCoordinator(t, 6, 2, queens.Mirror)
		c := coordinator.core
		var chunks []uint64
		seconds := func(n int, want run.Bottleneck, caughtUp bool, announcement func() run.Heartbeat) {
			t.Helper()
			for range n {
				if caughtUp {
					c.caughtUp = time.Now()
				}
				c.cfg.Roster.ObserveHeartbeat(announcement())
				c.announcement()
				c.measureBottleneck(time.Now(), false)
				time.Sleep(time.Second)
			}
			if got := c.measure(time.Now()).Bottleneck; got != want {
				t.Errorf("bounded by %q, want %q", got, want)
			}
		}
		idle := func() run.Heartbeat { return run.Heartbeat{Worker: "w", Threads: 2} }
		seconds(13, run.ByMessages, true, idle) // no task is published yet
		for command, ok := c.nextCommand(t); ok; command, ok = c.nextCommand(t) {
			if command.Op != flight.Publish {
				t.Fatalf("the command is %+v", command)
			}
			c.completed(time.Now(), &outcome{Command: command, sequence: 1})
			chunks = append(chunks, command.Chunk)
		}
		seconds(13, run.ByMessages, true, idle) // all chunks wait in the queue
		holding := func(searching int) func() run.Heartbeat {
			return func() run.Heartbeat {
				h := idle()
				for i, id := range chunks {
					h.Held = append(h.Held, run.HeldChunk{Run: c.run, Chunk: id, Searching: i < searching})
				}
				return h
			}
		}
		seconds(13, run.ByTail, true, holding(1))
		seconds(13, run.BySearch, true, holding(2))
		seconds(30, run.ByLedger, false, holding(0))
	})
}

// Workers that pause count nothing: while all of them pause, the run has no threads and no voters, and its chunks do not
// expire, as without workers. The snapshot still has them, with their reasons.
func TestPausedWorkersCountNothing(t *testing.T) {
	c, _ := newTestCoordinator(t, 8, 2, queens.Full)
	c.core.trust.cfg.Admits = func(string, []byte) (admitted, byToken bool) { return true, false }
	for _, reason := range []string{"", "on battery", ""} {
		c.cfg.Roster.ObserveHeartbeat(run.Heartbeat{Worker: "w", Key: "k", Kernel: "generic", Threads: 4, Paused: reason})
		c.core.observeVoters(time.Now())
		s := c.core.measure(time.Now())
		paused, threads, workers, voters := 0, 4, flight.Idle, []string{"k"}
		if reason != "" {
			paused, threads, workers, voters = 1, 0, flight.Nobody, nil
		}
		if s.Workers != 1 || s.PausedWorkers != paused || s.Threads != threads || s.IdleThreads != threads || s.WorkerList[0].Paused != reason {
			t.Errorf("%q: the snapshot has %d workers, of which %d pause, and %d threads, %d idle; %+v",
				reason, s.Workers, s.PausedWorkers, s.Threads, s.IdleThreads, s.WorkerList)
		}
		if got := c.core.workers(); got != workers {
			t.Errorf("%q: the workers are %v, want %v", reason, got, workers)
		}
		if got := c.core.trust.connected(); !slices.Equal(got, voters) {
			t.Errorf("%q: the voters are %v, want %v", reason, got, voters)
		}
		if got := c.core.announcement(); got.Threads != threads {
			t.Errorf("%q: the announcement has %d threads, want %d", reason, got.Threads, threads)
		}
	}
}
