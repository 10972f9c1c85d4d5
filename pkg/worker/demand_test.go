package worker

import (
	"testing"
	"time"

	"nqueens/pkg/run"
)

// A worker keeps no more chunks of a run ready than it has searched, and no more than half of its
// share of what is queued.
func TestTargetFollowsWhatIsSearched(t *testing.T) {
	now := time.Now()
	w := &Worker{threads: 1, shares: make(shares)}
	w.shares.set("r", 1, now)
	for searched, want := range []float64{1, 1, 2, 3, 4, 5, 5, 5} {
		k := &knownRun{queued: 100, announcement: run.Announcement{Threads: 10}}
		if got := w.target("r", k); got != want {
			t.Errorf("after %d chunks %v should be ready, want %v", searched, got, want)
		}
		sv := w.shares.hold("r", now)
		sv.begin(now, 1)
		now = now.Add(time.Millisecond)
		sv.finish(time.Millisecond, true)
	}
}
