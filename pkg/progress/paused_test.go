package progress_test

import (
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/progress"
	"nqueens/pkg/run"
)

// A worker that pauses is present with its reason, and is not lost, but has no threads, searches nothing, and
// is no voter, until it says that it counts again.
func TestPausedWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		paused, other := heartbeat("a", 4), heartbeat("b", 2)
		paused.Paused = "on battery"
		for range 5 {
			r.ObserveHeartbeat(paused)
			r.ObserveHeartbeat(other)
			r.ObserveResult("", "a", 100, time.Second)
			time.Sleep(10 * time.Second)
		}
		wantPresent(t, r, "while one pauses", 2, 2)
		if lost, f := r.Expire(), r.Present(); len(lost) > 0 || f.Idle != 2 || f.Paused != 1 {
			t.Errorf("%d workers are lost, %d threads idle and %d workers pause, want 0, 2 and 1", len(lost), f.Idle, f.Paused)
		}
		want := run.Worker{Name: "a", Kernel: "generic", Threads: 4, Paused: "on battery"}
		if workers := r.Workers(); len(workers) != 2 || workers[0] != want {
			t.Errorf("the workers are %+v, want the first to be %+v", workers, want)
		}
		voters := 0
		for _, i := range r.Identities() {
			if !i.Paused {
				voters++
			}
		}
		if voters != 1 {
			t.Errorf("%d workers may be voters, want 1", voters)
		}
		r.ObserveHeartbeat(heartbeat("a", 4))
		wantPresent(t, r, "when none pauses", 2, 6)
	})
}
