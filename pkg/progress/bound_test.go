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
		seconds(11, search, run.ByTail)
		seconds(3, search, run.BySearch)
		for range 5 { // neither holds
			seconds(9, tail, run.BySearch)
			seconds(9, search, run.BySearch)
		}
		seconds(11, Load{}, run.BySearch)
		seconds(3, Load{}, "")
		seconds(11, tail, "")
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

// What a roster remembers of workers that have gone is bounded.
func TestWorkersGoneAreBounded(t *testing.T) {
	r := NewRoster()
	sent := time.Now()
	for i := range 300_000 {
		h := run.Heartbeat{Worker: strconv.Itoa(i), Key: strconv.Itoa(i % 300), Threads: 1, Sent: sent}
		r.ObserveHeartbeat(h)
		h.Sent, h.Leaving = sent.Add(1), true
		r.ObserveHeartbeat(h)
		if len(r.gone) > maxGone {
			t.Fatalf("%d workers that have gone are remembered, more than %d", len(r.gone), maxGone)
		}
	}
	if len(r.gone) == 0 || len(r.keys) > 0 {
		t.Errorf("%d workers that have gone are remembered, and %d keys without workers", len(r.gone), len(r.keys))
	}
}
