package core

import (
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// begin returns a worker with one searcher that has heard of run r, and sends its first request at
// the given time, up to 2 s.
func begin(at time.Duration) *Core {
	c := New(1, false)
	c.Announced(0, queens.Announcement{Run: "r", Instance: 1, State: queens.Running, Work: true},
		at.Seconds()/spread.Seconds())
	c.Tick(at)
	return c
}

// A reply that comes after its coordinator is silent is taken, as long as its request waits for it.
func TestReplyOfASilentCoordinator(t *testing.T) {
	c := begin(time.Second)
	c.Tick(silentAfter)
	number := c.number
	c.Commands()
	c.Replied(silentAfter+time.Second/2, "r", number, &queens.WorkReply{Number: number, Instance: 1,
		Chunks: []queens.Chunk{{Range: queens.Range{Tasks: 1}}}})
	if c.Stats(silentAfter+time.Second).Busy != 1 {
		t.Error("the chunk of a late reply is not searched")
	}
}

// A request that gets no answer at all does not keep a silent run.
func TestSilentRunIsForgotten(t *testing.T) {
	c := begin(time.Second)
	for c.Next() < time.Minute {
		c.Tick(c.Next())
	}
	if len(c.runs) != 0 || c.number != 1 {
		t.Errorf("%d runs are known, after %d requests", len(c.runs), c.number)
	}
}

// A worker leaves a silent run once, even if several others have work.
func TestLeavesSilentRunOnce(t *testing.T) {
	c := New(1, false)
	silent := &run{name: "silent", waiting: make([]queens.Chunk, 1)}
	c.runs = []*run{silent}
	for range 3 {
		c.runs = append(c.runs, &run{name: "heard", silentAt: Never, work: true})
	}
	c.leaveSilent(silent, giveUpAfter)
	if commands := c.Commands(); len(commands) != 1 || len(silent.waiting) != 0 {
		t.Errorf("%d chunks wait after %v", len(silent.waiting), commands)
	}
}

// Of several runs, one that is heard says for what the worker waits.
func TestWaitsForTheSoonest(t *testing.T) {
	silent := &run{name: "silent"}
	banned := &run{name: "banned", silentAt: Never, refused: "a wrong count"}
	mute := &run{name: "mute", silentAt: Never, unanswered: 1}
	empty := &run{name: "empty", silentAt: Never}
	for _, c := range []struct {
		runs []*run
		want queens.Reason
	}{
		{nil, queens.NoCoordinator}, {[]*run{silent}, queens.SilentOne},
		{[]*run{banned, silent}, queens.MachineBanned}, {[]*run{silent, banned}, queens.MachineBanned},
		{[]*run{mute, silent}, queens.NoReplies}, {[]*run{silent, mute}, queens.NoReplies},
		{[]*run{mute, empty, silent}, queens.NoWork}, {[]*run{empty, banned}, queens.NoWork},
	} {
		w := New(1, false)
		w.runs = c.runs
		if reason, _ := w.waitsFor(time.Second); reason != c.want {
			t.Errorf("%d runs: waits for %s, want %s", len(c.runs), reason, c.want)
		}
	}
}
