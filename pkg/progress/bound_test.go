package progress

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/run"
)

// A run is bounded by its search while its threads search, and else by what keeps them from it.
func TestBound(t *testing.T) {
	for _, c := range []struct {
		name string
		load Load
		want run.Bottleneck
	}{
		{"no threads", Load{}, ""},
		{"all threads search", Load{Threads: 100, Idle: 9, Waiting: 200}, run.BySearch},
		{"all threads search, and results wait", Load{Threads: 100, Idle: 9, Unread: true, Recording: 1}, run.BySearch},
		{"results are unread", Load{Threads: 100, Idle: 50, Unread: true}, run.ByLedger},
		{"results are unread at the end", Load{Threads: 100, Idle: 100, Unread: true, AllPublished: true}, run.ByLedger},
		{"the ledger takes all time", Load{Threads: 100, Idle: 10, Waiting: 100, Recording: 0.8}, run.ByLedger},
		{"the last tasks", Load{Threads: 100, Idle: 50, AllPublished: true, Recording: 0.1}, run.ByTail},
		{"the last tasks, and chunks for some of the threads", Load{Threads: 100, Idle: 50, AllPublished: true, Waiting: 40}, run.ByTail},
		{"the last tasks, and chunks for nearly all threads", Load{Threads: 100, Idle: 50, AllPublished: true, Waiting: 41}, run.ByMessages},
		{"chunks wait, and threads for them", Load{Threads: 100, Idle: 50, AllPublished: true, Waiting: 50}, run.ByMessages},
		{"chunks are not published fast enough", Load{Threads: 100, Idle: 50}, run.ByMessages},
		{"no more chunks may be published", Load{Threads: 100, Idle: 50, Full: true}, run.ByWindow},
		{"no more chunks may be published, and they wait", Load{Threads: 100, Idle: 50, Waiting: 50, Full: true}, run.ByMessages},
	} {
		if got := c.load.Bound(); got != c.want {
			t.Errorf("%s: bounded by %q, want %q", c.name, got, c.want)
		}
	}
}

// A bound is said when it has held for ten seconds, and until another has.
func TestBoundMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		search, tail := Load{Threads: 10}, Load{Threads: 10, Idle: 9, AllPublished: true}
		var m BottleneckMeter
		seconds := func(n int, l Load, want run.Bottleneck) {
			t.Helper()
			for i := range n {
				if got := m.Measure(l, 0); got != want {
					t.Errorf("second %d: %q, want %q", i, got, want)
				}
				time.Sleep(time.Second)
			}
		}
		seconds(10, tail, "")
		seconds(3, tail, run.ByTail)
		seconds(10, search, run.ByTail)
		seconds(3, search, run.BySearch)
		for range 5 { // neither holds
			seconds(9, tail, run.BySearch)
			seconds(9, search, run.BySearch)
		}
		seconds(10, Load{}, run.BySearch)
		seconds(3, Load{}, "")
		seconds(10, tail, "")
		seconds(3, tail, run.ByTail)
		for range 10 { // a second is none
			seconds(1, search, run.ByTail)
			seconds(1, tail, run.ByTail)
		}
	})
}

// The ledger bounds a run if it takes nearly all time for a while, not if one transaction does.
func TestRecordingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m BottleneckMeter
		var recorded time.Duration
		seconds := func(n int, share float64, want run.Bottleneck) {
			t.Helper()
			var got run.Bottleneck
			for range n {
				got = m.Measure(Load{Threads: 10, Idle: 5}, recorded)
				time.Sleep(time.Second)
				recorded += time.Duration(share * float64(time.Second))
			}
			if got != want {
				t.Errorf("bounded by %q, want %q", got, want)
			}
		}
		seconds(20, 0.1, run.ByMessages)
		seconds(3, 1, run.ByMessages)
		seconds(20, 0.5, run.ByMessages)
		seconds(40, 0.95, run.ByLedger)
	})
}

// A thread is idle if it searches no chunk, of any run, and its worker is present.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRoster()
		held := func(of string, searching bool) run.HeldChunk {
			return run.HeldChunk{Run: of, Chunk: 1, Searching: searching}
		}
		r.ObserveHeartbeat(run.Heartbeat{Worker: "a", Threads: 4, Held: []run.HeldChunk{held("n8-a", true), held("n8-b", true), held("n8-a", false)}})
		r.ObserveHeartbeat(run.Heartbeat{Worker: "b", Threads: 1, Held: []run.HeldChunk{held("n8-a", true), held("n8-a", true)}})
		r.ObserveHeartbeat(run.Heartbeat{Worker: "c", Threads: 8})
		if got := r.Idle(); got != 10 {
			t.Errorf("%d threads are idle, want 10", got)
		}
		time.Sleep(2 * heartbeatTimeout)
		if got := r.Idle(); got != 0 {
			t.Errorf("%d threads of silent workers are idle", got)
		}
	})
}

// What a roster remembers of workers that have gone is bounded over all keys.
func TestWorkersGoneAreBounded(t *testing.T) {
	for name, keeps := range map[string]bool{"keys without workers": false, "keys with workers": true} {
		r := NewRoster()
		sent := time.Now()
		const keys = 300
		for i := range 300_000 {
			h := run.Heartbeat{Worker: strconv.Itoa(i), Key: strconv.Itoa(i % keys), Threads: 1, Sent: sent}
			r.ObserveHeartbeat(h)
			if h.Sent, h.Leaving = sent.Add(1), true; keeps && i < keys {
				continue
			}
			r.ObserveHeartbeat(h)
			if r.gone > maxGone {
				t.Fatalf("%s: %d workers that have gone are remembered, more than %d", name, r.gone, maxGone)
			}
		}
		have := 0
		for _, use := range r.keys {
			have += len(use.gone)
		}
		if have != r.gone || have == 0 {
			t.Errorf("%s: %d workers that have gone are remembered, and %d counted", name, have, r.gone)
		}
	}
}
