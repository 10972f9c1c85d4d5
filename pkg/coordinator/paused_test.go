package coordinator

import (
	"slices"
	"testing"
	"time"

	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

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
