package progress_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/progress"
	"nqueens/pkg/run"
)

// Workers are sorted by name. Each has the number of chunks that it is searching, the time for
// which it has been searching the oldest of them, and the rate of all its threads together.
// Chunks that wait for a thread do not count.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		r.ObserveHeartbeat(run.Heartbeat{Worker: "b", Kernel: "avx2", Threads: 3, Held: []run.HeldChunk{
			{Run: "r", Chunk: 1, Searching: true, Elapsed: 4 * time.Second},
			{Run: "s", Chunk: 2, Searching: true, Elapsed: 9 * time.Second},
			{Run: "r", Chunk: 3, Elapsed: time.Hour},
		}})
		r.ObserveHeartbeat(run.Heartbeat{Worker: "a", Kernel: "generic", Threads: 1, Held: []run.HeldChunk{{Run: "r", Chunk: 4}}})
		r.ObserveResult("", "b", 300, 2*time.Second)
		r.ObserveResult("", "c", 1, time.Second) // has never sent a heartbeat
		time.Sleep(2 * time.Second)
		want := []run.Worker{
			{Name: "a", Kernel: "generic", Threads: 1},
			{Name: "b", Kernel: "avx2", Threads: 3, Rate: 450, Held: 2, Oldest: run.Seconds{Duration: 11 * time.Second}},
		}
		if got := r.Workers(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("workers %v, want %v", got, want)
		}
		time.Sleep(time.Minute)
		if got := r.Workers(); len(got) != 0 {
			t.Errorf("workers %v, though all were silent for a minute", got)
		}
	})
}

// A worker's rate follows its tasks, but no single one.
func TestWorkerRate(t *testing.T) {
	r := progress.NewRoster()
	r.ObserveHeartbeat(run.Heartbeat{Worker: "a", Kernel: "k", Threads: 1})
	rate := func() float64 { return r.Workers()[0].Rate }
	if rate() != 0 {
		t.Errorf("rate %v before the first task", rate())
	}
	for range 100 {
		r.ObserveResult("", "a", 1000, time.Second)
	}
	if !near(rate(), 1000) {
		t.Errorf("rate %v after tasks of 1000 solutions a second", rate())
	}
	r.ObserveResult("", "a", 0, time.Second)
	if rate() < 850 || rate() > 950 {
		t.Errorf("one task without solutions makes a rate of 1000 %v", rate())
	}
	for range 100 {
		r.ObserveResult("", "a", 10, time.Second)
	}
	if !near(rate(), 10) && (rate() < 9.9 || rate() > 10.1) {
		t.Errorf("rate %v after 100 tasks of 10 solutions a second", rate())
	}
}

// A worker that is idle has no rate, nor one of which two heartbeats are missing. It is idle if its last heartbeat
// names no search and no result has come since: a worker that has just begun counts before it says so.
func TestIdleWorkerHasNoRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		heartbeat := func(held ...run.HeldChunk) {
			time.Sleep(time.Second)
			r.ObserveHeartbeat(run.Heartbeat{Worker: "a", Kernel: "k", Threads: 1, Held: held})
		}
		result := func() {
			time.Sleep(time.Millisecond)
			r.ObserveResult("", "a", 1000, time.Second)
		}
		want := func(when string, rate float64, held int) {
			t.Helper()
			if w := r.Workers()[0]; !near(w.Rate, rate) || w.Held != held {
				t.Errorf("%s: rate %v and %d chunks, want %v and %d", when, w.Rate, w.Held, rate, held)
			}
		}
		heartbeat()
		want("at the start", 0, 0)
		result()
		want("after its first result", 1000, 0)
		heartbeat(run.HeldChunk{Run: "r", Chunk: 1, Searching: true})
		want("while it searches", 1000, 1)
		result()
		heartbeat()
		want("when it is idle", 0, 0)
		result()
		want("after another result", 1000, 0)

		heartbeat(run.HeldChunk{Run: "r", Chunk: 2, Searching: true})
		time.Sleep(7 * time.Second)
		want("when one heartbeat is missing", 1000, 1)
		time.Sleep(time.Nanosecond)
		want("when two are missing", 0, 1)
		result()
		want("when a result shows that it lives", 1000, 1)
		time.Sleep(7*time.Second + 1)
		want("when that is past", 0, 1)
	})
}

// Of too many workers those remain that have been searching a chunk the longest, sorted by name.
func TestTooManyWorkers(t *testing.T) {
	r := progress.NewRoster()
	const many = run.MaxWorkers + 100
	for i := range many {
		r.ObserveHeartbeat(run.Heartbeat{Worker: fmt.Sprintf("w%04d", many-i), Kernel: "k", Threads: 1, Held: []run.HeldChunk{
			{Run: "r", Chunk: uint64(i + 1), Searching: true, Elapsed: time.Duration(i) * time.Second},
		}})
	}
	got := r.Workers()
	if len(got) != run.MaxWorkers || got[0].Name != "w0001" || got[len(got)-1].Name != fmt.Sprintf("w%04d", run.MaxWorkers) {
		t.Errorf("%d of %d, from %s to %s", len(got), many, got[0].Name, got[len(got)-1].Name)
	}
}
