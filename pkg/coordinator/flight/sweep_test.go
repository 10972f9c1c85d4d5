package flight

import (
	"fmt"
	"math"
	"testing"
	"time"

	"nqueens/pkg/run"
)

// No search time that a worker claims, and no attempt, makes the timeout of a chunk short or endless: it is
// RepublishAfter at least, and 20 times the longest search for each task, doubles with each attempt up to the
// eleventh, and ends at a year.
func TestTimeout(t *testing.T) {
	f := newTest(testManifest(1))
	for _, longest := range []time.Duration{0, 1, time.Second, time.Hour, 1000 * time.Hour, maxTimeout, math.MaxInt64 / 3, math.MaxInt64} {
		for _, tasks := range []int{1, 7, run.MaxChunk} {
			f.longest = longest
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
	f.longest = 0
	if got := f.timeout(1, 0); got != f.cfg.RepublishAfter {
		t.Errorf("the first timeout is %v", got)
	}
}

// Whatever time a worker claims, the longest search took no longer than its task was published; that of a task that is
// not in flight is not known.
func TestLongestSearchIsSincePublication(t *testing.T) {
	f := newTest(testManifest(2))
	f.Observe(start.Add(time.Hour), 0, time.Second)
	f.publish(t, all)
	for _, step := range []struct{ after, claimed, longest time.Duration }{
		{time.Minute, time.Second, time.Second}, {time.Minute, math.MaxInt64, time.Minute}, {time.Hour, time.Minute, time.Minute},
	} {
		f.Observe(start.Add(step.after), 0, step.claimed)
		if got := f.LongestSearch(); got != step.longest {
			t.Errorf("%v after the publication a worker claims %v: the longest search is %v", step.after, step.claimed, got)
		}
	}
	f.Settled(start, 0)
	if f.Observe(start.Add(time.Hour), 0, time.Hour); f.LongestSearch() != time.Minute {
		t.Errorf("a task that is not in flight makes the longest search %v", f.LongestSearch())
	}
}

// A chunk expires after the timeout of its attempt, by the longest search.
func TestExpiryFollowsTheLongestSearch(t *testing.T) {
	for after, expires := range map[time.Duration]int{20*time.Hour - time.Second: 0, 20 * time.Hour: 1} {
		f := newTest(testManifest(1))
		f.longest = time.Hour
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
		if oldest, _, found := f.Oldest(); checks != f.Chunks() || !found || f.Waiting(nil) != checks || len(f.sent) > 2*checks+1 {
			t.Errorf("round %d: %d checks of %d chunks; the oldest is %d; the list has %d", round, checks, f.Chunks(), oldest, len(f.sent))
		}
	}
	if f.Chunks() != 10 {
		t.Errorf("%d chunks are left", f.Chunks())
	}
}

// Whatever happens, a bounded number of past chunks is remembered. Those that may end first are forgotten last.
func TestPastIsBounded(t *testing.T) {
	f := newTest(testManifest(1))
	f.publish(t, all)
	f.remember(1, past{start, 0, 1})
	for i := range uint64(maxPast + 10) {
		f.remember(2+i, past{at: start.Add(time.Duration(i))})
	}
	if len(f.past) > maxPast || len(f.past) < 2 || f.IsObsolete(1, start) {
		t.Errorf("%d past chunks are remembered", len(f.past))
	}
	f.forget(start.Add(time.Hour))
	if len(f.past) != 1 {
		t.Errorf("%d past chunks are remembered an hour later, want that whose task is in flight", len(f.past))
	}
}

// Figures for people and monitoring say what is in flight.
func TestFigures(t *testing.T) {
	f := newTest(testManifest(5, 2))
	f.Fill(0, all)
	if f.AllPublished() {
		t.Error("all is published before Next")
	}
	if _, _, found := f.Oldest(); found {
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
	first, found := f.Chunk(3)
	if _, closed := f.Chunk(99); !found || closed || first != 2 {
		t.Errorf("chunk 3 begins with task %d", first)
	}
	got := fmt.Sprint(f.Chunks(), f.InFlight(), f.InFlightByClass(), f.Bytes(), f.Waiting(map[uint64]time.Time{1: start, 99: start}), f.AllPublished(), f.IsFull(), f.Republished())
	if want := "6 4 [2 2] 96 4 true false 0"; got != want {
		t.Errorf("the figures are %s, want %s", got, want)
	}
}
