package core

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// Which holds are overdue changes at ticks only. Otherwise a worker could cease to hoard between
// two ticks, and work would wait for it without anybody looking.
func TestOverdueChangesAtTicks(t *testing.T) {
	s := &story{t: t, out: &strings.Builder{}}
	s.run([]string{"2"})
	c, one := s.core, queens.Range{Tasks: 1}
	c.fleet.median = 1e-6 // as a result leaves it: a searcher of this speed takes long
	if before := c.overdueTime(one); before != overdueAfter {
		t.Errorf("%v before the tick", before)
	}
	c.Tick(time.Second)
	if after := c.overdueTime(one); after <= overdueAfter {
		t.Errorf("%v after the tick", after)
	}
}

// Of several holds of a task that end at the same time, the one that comes first in the heap may be
// handed out again. A tick looks at the first holds only, so another one would never be found.
func TestFirstHoldIsDoubled(t *testing.T) {
	q := newQueue([]uint64{1})
	for i, name := range []string{"b", "a", "c"} {
		p := queens.Process{Machine: queens.Machine{User: queens.WorkerUser, Name: name}, Name: name}
		h := q.hold(time.Duration(i), p, queens.Range{Tasks: 1}, func(uint64) bool { return true })
		q.endsAt(h, never)
	}
	for i, h := range q.byEnd {
		if got := q.mayDouble(h); got != (i == 0) {
			t.Errorf("the hold of %s, number %d in the heap: %v", h.holder.Name, i, got)
		}
	}
}

// startedCore returns the core of a run with one class of that many tasks.
func startedCore(t *testing.T, tasks string) *Core {
	t.Helper()
	s := &story{t: t, out: &strings.Builder{}}
	s.run([]string{tasks})
	s.core.Tick(5 * time.Second) // it hands out tasks now
	s.core.Take()
	return s.core
}

// hearOf lets a machine ask for chunks for the first time, 6 s after the start, and returns its
// worker.
func hearOf(c *Core, machine string, want int) *worker {
	p := process("w/" + machine + "/p")
	c.WorkRequested(6*time.Second, &Request{From: p, WorkRequest: queens.WorkRequest{
		Number: 1, Want: want, Threads: want, Searchers: want,
	}})
	return c.fleet.workers[p]
}

// A hold is overdue after four times the time of the median searcher, but not before 30 s. A worker
// hoards when it has more overdue holds than results.
func TestOverdueTime(t *testing.T) {
	c := startedCore(t, "10")
	for seconds, want := range map[float64]time.Duration{5: 30 * time.Second, 20: 80 * time.Second} {
		c.clock.median = c.options.Shares[0] / seconds
		got := c.overdueTime(queens.Range{Tasks: 1})
		if got.Round(time.Millisecond) != want {
			t.Errorf("a task of %v s is overdue after %v, want %v", seconds, got, want)
		}
	}
	w := hearOf(c, "a", 0)
	for _, test := range []struct {
		overdue, results uint64
		hoards           bool
	}{{0, 0, false}, {1, 0, true}, {1, 1, false}, {2, 1, true}, {2, 2, false}} {
		c.queue.overdue[w.process], w.results = test.overdue, test.results
		if got := c.hoards(w); got != test.hoards {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// A search takes at least half as long again as it has taken so far, and as the hold has lasted.
func TestTimeLeft(t *testing.T) {
	c := startedCore(t, "10")
	w := hearOf(c, "a", 0)
	w.rate = rate{work: c.options.Shares[0], seconds: 10} // a task takes 10 s
	const s = time.Second
	for _, test := range []struct {
		began, since, left time.Duration // before now; a search that has not begun began 0 ago
	}{{0, 0, 10 * s}, {4 * s, 4 * s, 6 * s}, {8 * s, 8 * s, 4 * s}, {0, 40 * s, 20 * s},
		{60 * s, 2 * s, 30 * s}, {8 * s, 60 * s, 30 * s}} {
		const now = 1000 * s
		h := &hold{Range: queens.Range{Tasks: 1}, since: now - test.since}
		if test.began > 0 {
			h.begun, h.began = true, now-test.began
		}
		if got := c.timeLeft(now, w, h); got.Round(time.Millisecond) != test.left {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// Overdue chunks are handed out again, but not to a worker that hoards, nor more of them to a
// worker without a result than such a worker may hold.
func TestWhoDoubles(t *testing.T) {
	const tasks, at = newcomerChunks + 10, 6 * time.Second
	c := startedCore(t, "266")
	for i := range tasks {
		p := process("w/hoarder/" + strconv.Itoa(i))
		c.WorkRequested(at, &Request{From: p, WorkRequest: queens.WorkRequest{
			Number: 1, Want: 1, Threads: 1, Searchers: 1,
		}})
	}
	if waits := c.queue.waits(); waits != 0 {
		t.Fatalf("%d tasks wait", waits)
	}
	hoarder := hearOf(c, "a", 1)
	c.queue.overdue[hoarder.process] = 1
	newcomer := hearOf(c, "b", tasks)
	c.clock.tick = at + overdueAfter
	c.doubleLast(at)
	if n := len(c.queue.holds[hoarder.process]); n != 0 {
		t.Errorf("a worker that hoards gets %d chunks", n)
	}
	if n := len(c.queue.holds[newcomer.process]); n != newcomerChunks {
		t.Errorf("a worker without a result gets %d chunks", n)
	}
}

// A done task that waits for a spot check is handed out once: its holder is not raced.
func TestChecksAreNotDoubled(t *testing.T) {
	const at = 6 * time.Second
	c := startedCore(t, "1")
	w := hearOf(c, "a", 1)
	h := c.queue.holds[w.process][queens.Range{Tasks: 1}]
	if ends := c.endings(at); len(ends) != 1 || ends[0] != h {
		t.Fatalf("%d chunks may be handed out again", len(ends))
	}
	c.Delivered(at, &Delivery{From: process("w/b/p"), Results: []CheckedResult{{Result: queens.Result{
		Range: h.Range, Counted: h.Range, Counts: []uint64{1}, Kernel: "avx2", Searched: time.Second,
	}}}})
	c.judge.checks[0] = true
	c.queue.hold(at, process("w/c/p"), h.Range, func(uint64) bool { return true })
	c.fleet.hear(at, process("w/c/p"), true)
	if ends := c.endings(at); len(ends) != 0 {
		t.Errorf("%d checks may be handed out again", len(ends))
	}
}
