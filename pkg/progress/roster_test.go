package progress_test

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/progress"
	"nqueens/pkg/run"
)

// silence is how long a worker may be silent and still be present.
const silence = 15 * time.Second

func beat(worker string, threads int) run.Heartbeat {
	return run.Heartbeat{Worker: worker, Kernel: "generic", Threads: threads}
}

func leave(worker string) run.Heartbeat {
	return run.Heartbeat{Worker: worker, Kernel: "generic", Threads: 1, Leaving: true}
}

func wantPresent(t *testing.T, r *progress.Roster, when string, workers, threads int) {
	t.Helper()
	if w, th := r.Present(); w != workers || th != threads {
		t.Errorf("%s: %d workers with %d threads, want %d with %d", when, w, th, workers, threads)
	}
}

// Present are the workers of the last heartbeats, each once, with the threads that
// it last said; not those that have said that they leave.
func TestRoster(t *testing.T) {
	r := progress.NewRoster()
	wantPresent(t, r, "nobody", 0, 0)
	for _, step := range []struct {
		name             string
		beat             run.Heartbeat
		workers, threads int
	}{
		{"a stranger leaves", leave("z"), 0, 0},
		{"one", beat("a", 2), 1, 2},
		{"the same", beat("a", 2), 1, 2},
		{"another", beat("b", 3), 2, 5},
		{"the first has other threads", beat("a", 64), 2, 67},
		{"the first leaves", leave("a"), 1, 3},
		{"it says so again", leave("a"), 1, 3},
		{"it comes back", beat("a", 1), 2, 4},
		{"both leave", leave("b"), 1, 1},
		{"both have left", leave("a"), 0, 0},
	} {
		r.ObserveHeartbeat(step.beat)
		wantPresent(t, r, step.name, step.workers, step.threads)
		wantPresent(t, r, step.name+", asked again", step.workers, step.threads)
	}
}

// A heartbeat tells who joins and who leaves, each once: not again while the worker is
// known, nor of a stranger's leaving. One that was silent is known until it is told to
// have vanished; after that it joins again.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		for _, step := range []struct {
			name     string
			beat     run.Heartbeat
			silent   time.Duration // before
			vanished bool          // is asked for before
			want     progress.Change
		}{
			{"a stranger leaves", leave("z"), 0, false, progress.Stays},
			{"the first", beat("a", 1), 0, false, progress.Joins},
			{"again", beat("a", 1), 0, false, progress.Stays},
			{"with other threads", beat("a", 9), 0, false, progress.Stays},
			{"another", beat("b", 1), 0, false, progress.Joins},
			{"the first leaves", leave("a"), 0, false, progress.Leaves},
			{"it says so again", leave("a"), 0, false, progress.Stays},
			{"it comes back", beat("a", 1), 0, false, progress.Joins},
			{"after a silence", beat("a", 1), time.Minute, false, progress.Stays},
			{"vanished and back", beat("a", 1), time.Minute, true, progress.Joins},
			{"leaves after a silence", leave("a"), time.Minute, false, progress.Leaves},
			{"leaves when it has vanished", leave("b"), 0, true, progress.Stays},
		} {
			time.Sleep(step.silent)
			if step.vanished {
				r.Expire()
			}
			if got := r.ObserveHeartbeat(step.beat); got != step.want {
				t.Errorf("%s: change %v, want %v", step.name, got, step.want)
			}
		}
	})
}

// A worker is present for 15 seconds after each heartbeat, and no longer; it may
// come back.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		r.ObserveHeartbeat(beat("a", 2))
		time.Sleep(10 * time.Second)
		r.ObserveHeartbeat(beat("b", 3))
		wantPresent(t, r, "10 s", 2, 5)
		time.Sleep(silence - 10*time.Second)
		wantPresent(t, r, "15 s", 2, 5)
		time.Sleep(time.Nanosecond)
		wantPresent(t, r, "past 15 s", 1, 3)
		r.ObserveHeartbeat(beat("b", 3))
		time.Sleep(silence)
		wantPresent(t, r, "15 s after the last heartbeat", 1, 3)
		time.Sleep(time.Nanosecond)
		wantPresent(t, r, "past that", 0, 0)
		r.ObserveHeartbeat(beat("a", 4))
		wantPresent(t, r, "back", 1, 4)
	})
}

// A worker that falls silent is told once, with its last heartbeat and what it held by
// then, whoever looks in between; one that left is not. It may come back as a new one,
// and vanish again.
func TestVanished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		wantVanished(t, r, "nobody")
		last := holding("b", 7, 8)
		r.ObserveHeartbeat(holding("b", 6))
		r.ObserveHeartbeat(beat("a", 2))
		r.ObserveHeartbeat(last)
		r.ObserveHeartbeat(holding("left", 9))
		r.ObserveHeartbeat(leave("left"))
		time.Sleep(silence)
		r.ObserveHeartbeat(beat("here", 1))
		wantVanished(t, r, "15 s")

		time.Sleep(time.Nanosecond)
		wantPresent(t, r, "past 15 s", 1, 1)
		wantVanished(t, r, "past 15 s", beat("a", 2), last)
		wantVanished(t, r, "asked again")

		r.ObserveHeartbeat(beat("b", 1))
		wantPresent(t, r, "back", 2, 2)
		time.Sleep(silence + time.Nanosecond)
		wantVanished(t, r, "gone again", beat("b", 1), beat("here", 1))
	})
}

// A worker that is heard of again, or leaves, before anybody asks has not vanished.
func TestLateHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		r.ObserveHeartbeat(holding("a", 1))
		r.ObserveHeartbeat(holding("b", 2))
		time.Sleep(time.Minute)
		r.ObserveHeartbeat(holding("a", 3))
		r.ObserveHeartbeat(leave("b"))
		wantVanished(t, r, "after a minute")
		wantPresent(t, r, "after a minute", 1, 1)
	})
}

// The names are those of the workers present, in order.
func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		for _, name := range []string{"d", "b", "a", "c"} {
			r.ObserveHeartbeat(beat(name, 1))
		}
		time.Sleep(silence)
		r.ObserveHeartbeat(beat("d", 1))
		r.ObserveHeartbeat(beat("a", 1))
		r.ObserveHeartbeat(leave("c"))
		for _, want := range [][]string{{"a", "b", "d"}, {"a", "d"}} {
			if got := r.Names(); !slices.Equal(got, want) {
				t.Errorf("present are %q, want %q", got, want)
			}
			time.Sleep(time.Nanosecond)
		}
	})
}

func holding(worker string, tasks ...uint64) run.Heartbeat {
	h := beat(worker, 1)
	for _, id := range tasks {
		h.Held = append(h.Held, run.ActiveTask{Run: "r", Task: id, Elapsed: time.Second})
	}
	return h
}

func wantVanished(t *testing.T, r *progress.Roster, when string, want ...run.Heartbeat) {
	t.Helper()
	if got := r.Expire(); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: vanished are %+v, want %+v", when, got, want)
	}
}

// Heartbeats may come while others ask, from anywhere. The race detector sees more
// of it.
func TestRosterIsSafeForAll(t *testing.T) {
	const workers, beats = 8, 200
	r := progress.NewRoster()
	var wg sync.WaitGroup
	for i := range workers {
		name := fmt.Sprintf("worker-%d", i)
		wg.Go(func() {
			for range beats {
				r.ObserveHeartbeat(beat(name, 2))
				r.ObserveHeartbeat(leave(name))
			}
			r.ObserveHeartbeat(beat(name, 2))
		})
		wg.Go(func() {
			for range beats {
				if w, th := r.Present(); w < 0 || w > workers || th != 2*w {
					t.Errorf("%d workers with %d threads", w, th)
				}
				if names, gone := r.Names(), r.Expire(); len(names) > workers || len(gone) > 0 {
					t.Errorf("present are %q, vanished %+v", names, gone)
				}
			}
		})
	}
	wg.Wait()
	wantPresent(t, r, "at the end", workers, 2*workers)
}
