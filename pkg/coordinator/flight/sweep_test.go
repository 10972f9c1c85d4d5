package flight

import (
	"fmt"
	"math"
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// No search time that a worker claims, and no attempt, makes the timeout of a chunk short or endless: it is
// RepublishAfter at least, and 20 times the longest search for each task, doubles with each attempt up to the
// eleventh, and ends at a year.
func TestTimeout(t *testing.T) {
	f := newTest(testManifest(1))
	for _, longest := range []time.Duration{0, 1, time.Second, time.Hour, 1000 * time.Hour, maxTimeout, math.MaxInt64 / 3, math.MaxInt64} {
		for _, tasks := range []int{1, 7, queens.MaxChunk} {
			f.guide.longest = longest
			for attempt := range uint32(41) {
				doublings := max(attempt, 1) - 1
				want := math.Max(f.cfg.RepublishAfter.Seconds(), 20*float64(tasks)*longest.Seconds()) * math.Exp2(math.Min(float64(doublings), 10))
				want = math.Min(want, maxTimeout.Seconds())
				if got := f.timeout(tasks, attempt).Seconds(); math.Abs(got/want-1) > 1e-3 {
					t.Errorf("after searches of %v the timeout of %d tasks, attempt %d, is %v s, want %v", longest, tasks, attempt, got, want)
				}
			}
		}
	}
	f.guide.longest = 0
	if got := f.timeout(1, 0); got != f.cfg.RepublishAfter {
		t.Errorf("the first timeout is %v", got)
	}
}

// A chunk expires after the timeout of its attempt, as Observe has the longest search.
func TestExpiryFollowsTheLongestSearch(t *testing.T) {
	f := newTest(testManifest(2))
	f.Observe(start, "w", 0, time.Hour)
	f.publish(t, all)
	if f.LongestSearch() != time.Hour {
		t.Errorf("the longest search is %v", f.LongestSearch())
	}
	for after, expires := range map[time.Duration]int{20*time.Hour - time.Second: 0, 20 * time.Hour: 1} {
		f := newTest(testManifest(1))
		f.Observe(start, "w", 0, time.Hour)
		f.publish(t, all)
		now := start.Add(after)
		held := map[uint64]time.Time{1: now}
		if got := f.Sweep(now, held, Busy, now); len(got.Expired) != expires {
			t.Errorf("after %v: %+v", after, got)
		}
	}
}

// The sweep looks at chunks in order of publication, however many there are, and however many were closed in between.
func TestSweepGoesInOrderOfPublication(t *testing.T) {
	const chunks = 1000
	f := newTest(testManifest(chunks))
	f.Resize(chunks)
	f.publishAll(t)
	now := start
	for round := range 3 {
		for task := uint64(round); task < chunks-10; task += 3 {
			f.Settled(now, task)
		}
		f.execute()
		now = now.Add(f.cfg.CheckAfter)
		f.Sweep(now, nil, Busy, now)
		last, checks := uint64(0), 0
		for cmd, found := f.Next(); found; cmd, found = f.Next() {
			if cmd.Op != Check || cmd.Sequence <= last {
				t.Fatalf("round %d: the command %+v after sequence %d", round, cmd, last)
			}
			last = cmd.Sequence
			checks++
			f.Checked(now, cmd.Chunk, now, true, false)
		}
		if oldest, found := f.Oldest(); checks != f.Chunks() || !found || f.Waiting(nil) != checks || len(f.watch.list) > 2*checks+1 {
			t.Errorf("round %d: %d checks of %d chunks; the oldest is %+v; the list has %d", round, checks, f.Chunks(), oldest, len(f.watch.list))
		}
	}
	if f.Chunks() != 10 {
		t.Errorf("%d chunks are left", f.Chunks())
	}
}

// The search of a chunk that was published again because it took long is not obsolete until its tasks have left
// flight: it may be the first to end. Then it is forgotten.
func TestSlowChunkIsNotObsolete(t *testing.T) {
	f := newTest(testManifest(1))
	f.publish(t, all)
	now := start.Add(f.cfg.RepublishAfter)
	if got := f.Sweep(now, map[uint64]time.Time{1: now}, Busy, now); len(got.Expired) != 1 {
		t.Fatalf("%+v", got)
	}
	f.execute()
	for range 3 {
		now = now.Add(2 * closedFor)
		f.Sweep(now, nil, Busy, now)
		if f.IsObsolete(1, now) || f.IsObsolete(2, now) {
			t.Fatalf("chunk 1 is obsolete before its task has a result:\n%s", f.State(now))
		}
	}
	f.Settled(now, 0)
	if f.IsObsolete(1, now.Add(-time.Hour)) == false || f.IsObsolete(2, now) || !f.IsObsolete(2, now.Add(2*obsoleteAfter)) {
		t.Error("chunk 1 is not obsolete, or chunk 2 not after a second")
	}
	now = now.Add(2 * closedFor)
	f.Sweep(now, nil, Busy, now)
	if len(f.past.slow) != 0 || len(f.past.slowOrder) != 0 {
		t.Error("chunk 1 is remembered")
	}
}

// Whatever happens, a bounded number of past chunks is remembered.
func TestPastIsBounded(t *testing.T) {
	p := newPast()
	for i := range uint64(3*maxSlow + 1) {
		p.addSlow(&chunk{id: i, first: i, tasks: 1})
	}
	if len(p.slow) != maxSlow || len(p.slowOrder) != maxSlow || !p.isSlow(3*maxSlow, all) || p.isSlow(0, all) {
		t.Errorf("%d slow chunks are remembered", len(p.slow))
	}
	for i := range uint64(2*maxClosed + 10) {
		p.add(start, i)
	}
	if n := len(p.closed) + len(p.older); n > 2*maxClosed {
		t.Errorf("%d closed chunks are remembered", n)
	}
	if _, known := p.closedAt(2 * maxClosed); !known {
		t.Error("the last chunk is forgotten")
	}
	p.sweep(start.Add(2*closedFor), all)
	if _, known := p.closedAt(2 * maxClosed); !known {
		t.Error("the last chunk is forgotten at the next sweep")
	}
	p.sweep(start.Add(4*closedFor), all)
	if n := len(p.closed) + len(p.older); n != 0 {
		t.Errorf("%d closed chunks are remembered after two minutes", n)
	}
}

// Figures for people and monitoring say what is in flight.
func TestFigures(t *testing.T) {
	f := newTest(testManifest(5, 2))
	f.Fill(0, all)
	if f.AllPublished() {
		t.Error("all is published before Next")
	}
	if _, found := f.Oldest(); found {
		t.Error("a chunk is the oldest before it is published")
	}
	f.publish(t, all)
	f.Settled(start, 4)
	f.Again(4, 1)
	f.Fill(0, all)
	f.Next() // deletes chunk 5
	if cmd, _ := f.Next(); cmd.Op != Publish || f.Waiting(map[uint64]time.Time{6: start}) != 5 {
		t.Error("a chunk is waiting for workers before the queue has acknowledged it")
	}
	f.Settled(start, 4)
	c, found := f.Chunk(3)
	if _, closed := f.Chunk(99); !found || closed || c != (ChunkInfo{ID: 3, First: 2, Tasks: 1, Sequence: 3}) {
		t.Errorf("chunk 3 is %+v", c)
	}
	got := fmt.Sprint(f.Chunks(), f.InFlight(), f.InFlightByClass(), f.Bytes(), f.Waiting(map[uint64]time.Time{1: start, 99: start}), f.AllPublished(), f.IsFull(), f.Republished())
	if want := "6 4 [2 2] 96 4 true false 0"; got != want {
		t.Errorf("the figures are %s, want %s", got, want)
	}
}
