package core

import (
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// A searcher gets a quarter of its share of the waiting work, at most 1.5 s, and a round trip more.
// Until the speed of the fleet is known, all searchers count as fast as the one that asks.
func TestSearcherWork(t *testing.T) {
	f := newFleet(0, func(queens.Machine) bool { return true })
	f.sums.searchers = 10
	longest := queens.LongestReply.Seconds()
	for _, c := range []struct {
		all, speed, waiting float64
		roundTrip           time.Duration
		want                float64
	}{
		{0, 2, 100, 0, 2.5},
		{0, 2, 1000, 0, 3},
		{40, 2, 100, 0, 1.25},
		{1, 2, 8, 0, 2}, // the only searcher whose speed counts
		{40, 2, 100, time.Second, 3.25},
		{40, 2, 100, time.Hour, 1.25 + 2*longest},
		{40, 0, 100, time.Second, 0},
	} {
		f.speed = c.all
		if got := f.searcherWork(c.speed, c.waiting, c.roundTrip); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A chunk has as many tasks as make the work and fit into the reply. What it takes is gone.
func TestRoom(t *testing.T) {
	r := room{chunks: 2, bytes: 100}
	for _, c := range []struct {
		work, ofTask float64
		bytes        int
		alone        bool
		want         uint64
	}{{10, 1, 30, false, 3}, {2, 1, 30, false, 2}, {0, 1, 30, false, 0}, {0, 1, 30, true, 1},
		{0, 1, 200, true, 0}, {1e9, 1, 0, false, 100}} {
		if got := r.tasks(c.work, c.ofTask, c.bytes, c.alone); got != c.want {
			t.Errorf("%+v: %d tasks", c, got)
		}
	}
	r.take(2, 30)
	if got := r.tasks(10, 1, 30, true); got != 1 {
		t.Errorf("%d tasks fit after two of three", got)
	}
	r.take(1, 30)
	if got := r.tasks(10, 1, 1, true); got != 0 {
		t.Errorf("a third chunk gets %d tasks", got)
	}
	large := room{chunks: 1, bytes: 1 << 40}
	if got := large.tasks(1e9, 1, 1, false); got != queens.MaxChunkTasks {
		t.Errorf("a chunk has %d tasks", got)
	}
}

// The sums have the idle threads of all workers. The median speed is measured once a second.
func TestSums(t *testing.T) {
	f := newFleet(0, func(queens.Machine) bool { return true })
	for i, name := range []string{"a", "b", "c"} {
		w := f.hear(0, process(name+"/p"), true)
		w.request.Searchers, w.request.Threads = 2, 8
		w.chunks = i
		w.rate.add(float64(i+1), 0, time.Second)
		f.sum(w)
	}
	if f.sums.idle != 8+4+0 || f.sums.searchers != 6 || f.sums.threads != 24 {
		t.Errorf("%+v", f.sums.part)
	}
	f.measure(0)
	if f.median != 2 || f.speed != 12 {
		t.Errorf("the median is %v, all together %v", f.median, f.speed)
	}
	f.speed = 0
	f.measure(measureEvery - 1)
	if f.speed != 0 {
		t.Error("the speed is measured twice in a second")
	}
	f.measure(measureEvery)
	if f.speed != 12 {
		t.Errorf("a second later the speed is %v", f.speed)
	}
}
