package progress_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/progress"
	"nqueens/pkg/run"
)

// heartbeatTimeout is how long a worker may be silent and still be present.
const heartbeatTimeout = 15 * time.Second

func heartbeat(worker string, threads int) run.Heartbeat {
	return run.Heartbeat{Worker: worker, Kernel: "generic", Threads: threads}
}

func leave(worker string) run.Heartbeat {
	return run.Heartbeat{Worker: worker, Kernel: "generic", Threads: 1, Leaving: true}
}

func wantPresent(t *testing.T, r *progress.Roster, when string, workers, threads int) {
	t.Helper()
	if f := r.Present(); f.Workers != workers || f.Threads != threads {
		t.Errorf("%s: %d workers with %d threads, want %d with %d", when, f.Workers, f.Threads, workers, threads)
	}
}

// However many workers send heartbeats with however many chunks, a roster keeps a bounded number
// of each.
func TestRosterIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	r := progress.NewRoster()
	const workers, chunks, keys = 1 << 17, 1 << 20, 100
	of := func(i int, h run.Heartbeat) run.Heartbeat {
		h.Key = fmt.Sprint("key", i%keys)
		return h
	}
	held := make([]run.HeldChunk, run.MaxHeld)
	for i := range held {
		held[i] = run.HeldChunk{Run: "n8-a", Chunk: uint64(i)}
	}
	total := func() (n int) {
		for _, h := range r.Expire() {
			n += len(h.Held)
		}
		return n
	}
	synctest.Test(t, func(*testing.T) {
		for i := range workers + 10 {
			h := of(i, heartbeat(fmt.Sprint(i), 1))
			h.Held = held
			r.ObserveHeartbeat(h)
			r.ObserveHeartbeat(h)
		}
		wantPresent(t, r, "too many", workers, workers)
		r.ObserveHeartbeat(of(0, leave("0")))
		r.ObserveHeartbeat(heartbeat("new", 1))
		wantPresent(t, r, "one left and one came", workers, workers)
		time.Sleep(heartbeatTimeout + time.Second)
		if got := total(); got > chunks || got < chunks-len(held) {
			t.Errorf("it kept %d chunks, want at most %d", got, chunks)
		}
		h := heartbeat("late", 1)
		h.Held = held
		r.ObserveHeartbeat(h)
		time.Sleep(heartbeatTimeout + time.Second)
		if got := total(); got != len(held) {
			t.Errorf("of a worker that comes after all have gone it kept %d chunks, want %d", got, len(held))
		}
	})
}

// One key does not keep the workers of others out of the roster, however many workers and chunks it names.
func TestRosterIsBoundedByKey(t *testing.T) {
	const keyWorkers, keyChunks = 1 << 12, 1 << 16
	r := progress.NewRoster()
	heartbeats := func(key string, workers int) {
		for i := range workers {
			h := heartbeat(fmt.Sprint(i), 1)
			h.Key = key
			for j := range 100 {
				h.Held = append(h.Held, run.HeldChunk{Run: "n8-a", Chunk: uint64(i)<<20 | uint64(j)})
			}
			r.ObserveHeartbeat(h)
		}
	}
	heartbeats("greedy", 2*keyWorkers)
	wantPresent(t, r, "the workers of one key", keyWorkers, keyWorkers)
	if held := len(r.Held("n8-a", nil)); held != keyChunks {
		t.Errorf("it holds %d chunks, want %d", held, keyChunks)
	}
	heartbeats("other", 2)
	wantPresent(t, r, "those of another beside them", keyWorkers+2, keyWorkers+2)
	if refused := r.Held("n8-a", func(i progress.Identity) bool { return i.Key == "greedy" }); len(refused) != 200 {
		t.Errorf("without the chunks of a key that is refused there are %d, want 200", len(refused))
	}
}

// A key speaks for its own workers only: a worker of the same name and another key is another worker.
func TestWorkersBelongToTheirKeys(t *testing.T) {
	r := progress.NewRoster()
	for _, key := range []string{"a", "b"} {
		h := heartbeat("w", 2)
		h.Key = key
		if got := r.ObserveHeartbeat(h); got != progress.Joins {
			t.Errorf("the worker of key %s: %v", key, got)
		}
	}
	wantPresent(t, r, "two of one name", 2, 4)
	gone := leave("w")
	gone.Key = "b"
	r.ObserveHeartbeat(gone)
	wantPresent(t, r, "one has left", 1, 2)
	if all := r.Everyone("r"); len(all) != 1 || all[0].Key != "a" {
		t.Errorf("present is %+v", all)
	}
	r.ObserveResult("b", "w", 8, time.Second)
	if w := r.Workers(); w[0].Rate != 0 {
		t.Errorf("the worker has the rate of another key: %v", w)
	}
}

// A heartbeat that somebody has recorded changes nothing when it is played again: while the worker is
// present, after it has left, and after it was lost.
func TestRecordedHeartbeatsChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		at := func(sent int64, h run.Heartbeat) run.Heartbeat {
			h.Key, h.Sent = "key", time.Unix(0, sent)
			return h
		}
		for i, step := range []struct {
			heartbeat run.Heartbeat
			silent    time.Duration // before
			want      progress.Change
			threads   int
		}{
			{at(10, heartbeat("w", 1)), 0, progress.Joins, 1},
			{at(20, heartbeat("w", 2)), 0, progress.Stays, 2},
			{at(20, leave("w")), 0, progress.Stays, 2},
			{at(10, heartbeat("w", 1)), 0, progress.Stays, 2},
			{at(30, leave("w")), 0, progress.Leaves, 0},
			{at(30, heartbeat("w", 3)), 0, progress.Stays, 0},
			{at(20, heartbeat("w", 2)), 0, progress.Stays, 0},
			{at(40, heartbeat("w", 4)), 0, progress.Joins, 4}, // it is back
			{at(40, heartbeat("w", 4)), heartbeatTimeout + time.Second, progress.Stays, 0},
			{at(50, heartbeat("w", 5)), 0, progress.Joins, 5},
		} {
			time.Sleep(step.silent)
			r.Expire()
			if got := r.ObserveHeartbeat(step.heartbeat); got != step.want {
				t.Errorf("heartbeat %d: %v, want %v", i, got, step.want)
			}
			if threads := r.Present().Threads; threads != step.threads {
				t.Errorf("after heartbeat %d: %d threads, want %d", i, threads, step.threads)
			}
		}
	})
}

// The worker that holds the most chunks without a result is found after a while, and not one whose results
// come.
func TestHeldWithoutResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		start := time.Now()
		for range 10 {
			r.ObserveHeartbeat(holding("idle", 1, 2))
			r.ObserveHeartbeat(holding("a little", 3))
			r.ObserveHeartbeat(holding("busy", 4, 5, 6))
			r.ObserveHeartbeat(heartbeat("free", 1))
			r.ObserveResult("", "busy", 1, time.Second)
			if idler, found := r.HeldWithoutResult("r", time.Minute); found && time.Since(start) < time.Minute {
				t.Errorf("after %v: %+v", time.Since(start), idler)
			}
			time.Sleep(7 * time.Second)
		}
		if idler, found := r.HeldWithoutResult("r", time.Minute); !found || idler != (progress.Idler{Name: "idle", Chunks: 2, Since: start}) {
			t.Errorf("%+v (%v)", idler, found)
		}
		if idler, found := r.HeldWithoutResult("another", time.Minute); found {
			t.Errorf("of another run: %+v", idler)
		}
	})
}

// A worker counts once, with the threads of its last heartbeat, and not after it left.
func TestRoster(t *testing.T) {
	r := progress.NewRoster()
	wantPresent(t, r, "nobody", 0, 0)
	for _, step := range []struct {
		name             string
		heartbeat        run.Heartbeat
		workers, threads int
	}{
		{"a stranger leaves", leave("z"), 0, 0},
		{"one", heartbeat("a", 2), 1, 2},
		{"the same", heartbeat("a", 2), 1, 2},
		{"another", heartbeat("b", 3), 2, 5},
		{"the first has other threads", heartbeat("a", 64), 2, 67},
		{"the first leaves", leave("a"), 1, 3},
		{"it says so again", leave("a"), 1, 3},
		{"it comes back", heartbeat("a", 1), 2, 4},
		{"both leave", leave("b"), 1, 1},
		{"both have left", leave("a"), 0, 0},
	} {
		r.ObserveHeartbeat(step.heartbeat)
		wantPresent(t, r, step.name, step.workers, step.threads)
		wantPresent(t, r, step.name+", asked again", step.workers, step.threads)
	}
}

// A worker joins with its first heartbeat and leaves once. An unknown one can't leave. A
// silent one is known until it expires; after that it joins again.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		for _, step := range []struct {
			name      string
			heartbeat run.Heartbeat
			silent    time.Duration // before
			expire    bool          // before
			want      progress.Change
		}{
			{"a stranger leaves", leave("z"), 0, false, progress.Stays},
			{"the first", heartbeat("a", 1), 0, false, progress.Joins},
			{"again", heartbeat("a", 1), 0, false, progress.Stays},
			{"with other threads", heartbeat("a", 9), 0, false, progress.Stays},
			{"another", heartbeat("b", 1), 0, false, progress.Joins},
			{"the first leaves", leave("a"), 0, false, progress.Leaves},
			{"it says so again", leave("a"), 0, false, progress.Stays},
			{"it comes back", heartbeat("a", 1), 0, false, progress.Joins},
			{"after a silence", heartbeat("a", 1), time.Minute, false, progress.Stays},
			{"expired and back", heartbeat("a", 1), time.Minute, true, progress.Joins},
			{"leaves after a silence", leave("a"), time.Minute, false, progress.Leaves},
			{"leaves after it expired", leave("b"), 0, true, progress.Stays},
		} {
			time.Sleep(step.silent)
			if step.expire {
				r.Expire()
			}
			if got := r.ObserveHeartbeat(step.heartbeat); got != step.want {
				t.Errorf("%s: change %v, want %v", step.name, got, step.want)
			}
		}
	})
}

// A worker is present for 15 seconds after each heartbeat, and no longer. It may return.
func TestHeartbeatTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		r.ObserveHeartbeat(heartbeat("a", 2))
		time.Sleep(10 * time.Second)
		r.ObserveHeartbeat(heartbeat("b", 3))
		wantPresent(t, r, "10 s", 2, 5)
		time.Sleep(heartbeatTimeout - 10*time.Second)
		wantPresent(t, r, "15 s", 2, 5)
		time.Sleep(time.Nanosecond)
		wantPresent(t, r, "past 15 s", 1, 3)
		r.ObserveHeartbeat(heartbeat("b", 3))
		time.Sleep(heartbeatTimeout)
		wantPresent(t, r, "15 s after the last heartbeat", 1, 3)
		time.Sleep(time.Nanosecond)
		wantPresent(t, r, "past that", 0, 0)
		r.ObserveHeartbeat(heartbeat("a", 4))
		wantPresent(t, r, "back", 1, 4)
	})
}

// A silent worker expires once, with its last heartbeat, whatever is asked in between; one
// that left does not. It may join again, and expire again.
func TestExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		wantExpired(t, r, "nobody")
		last := holding("b", 7, 8)
		r.ObserveHeartbeat(holding("b", 6))
		r.ObserveHeartbeat(heartbeat("a", 2))
		r.ObserveHeartbeat(last)
		r.ObserveHeartbeat(holding("left", 9))
		r.ObserveHeartbeat(leave("left"))
		time.Sleep(heartbeatTimeout)
		r.ObserveHeartbeat(heartbeat("here", 1))
		wantExpired(t, r, "15 s")

		time.Sleep(time.Nanosecond)
		wantPresent(t, r, "past 15 s", 1, 1)
		wantExpired(t, r, "past 15 s", heartbeat("a", 2), last)
		wantExpired(t, r, "asked again")

		r.ObserveHeartbeat(heartbeat("b", 1))
		wantPresent(t, r, "back", 2, 2)
		time.Sleep(heartbeatTimeout + time.Nanosecond)
		wantExpired(t, r, "gone again", heartbeat("b", 1), heartbeat("here", 1))
	})
}

// A worker whose heartbeat comes late, or that leaves late, does not expire.
func TestLateHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		r.ObserveHeartbeat(holding("a", 1))
		r.ObserveHeartbeat(holding("b", 2))
		time.Sleep(time.Minute)
		r.ObserveHeartbeat(holding("a", 3))
		r.ObserveHeartbeat(leave("b"))
		wantExpired(t, r, "after a minute")
		wantPresent(t, r, "after a minute", 1, 1)
	})
}

// Names are those of the workers present, sorted.
func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		for _, name := range []string{"d", "b", "a", "c"} {
			r.ObserveHeartbeat(heartbeat(name, 1))
		}
		time.Sleep(heartbeatTimeout)
		r.ObserveHeartbeat(heartbeat("d", 1))
		r.ObserveHeartbeat(heartbeat("a", 1))
		r.ObserveHeartbeat(leave("c"))
		for _, want := range [][]string{{"a", "b", "d"}, {"a", "d"}} {
			if got := namesOf(r); !slices.Equal(got, want) {
				t.Errorf("present are %q, want %q", got, want)
			}
			time.Sleep(time.Nanosecond)
		}
	})
}

// holding is the heartbeat of a worker that holds those chunks of run r.
func holding(worker string, chunks ...uint64) run.Heartbeat {
	h := heartbeat(worker, 1)
	for _, id := range chunks {
		h.Held = append(h.Held, run.HeldChunk{Run: "r", Chunk: id, Elapsed: time.Second})
	}
	return h
}

func wantExpired(t *testing.T, r *progress.Roster, when string, want ...run.Heartbeat) {
	t.Helper()
	if got := r.Expire(); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: expired are %+v, want %+v", when, got, want)
	}
}

// Held names the chunks of one run that workers present hold, searched or not, by their latest
// heartbeats. Each has the time of the latest heartbeat that named it.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := progress.NewRoster()
		// want maps each chunk to the time of its heartbeat, since the start.
		want := func(when, name string, want map[uint64]time.Duration) {
			t.Helper()
			got := make(map[uint64]time.Duration)
			for chunk, at := range r.Held(name, nil) {
				got[chunk] = at.Sub(start)
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s: chunks of run %s are %v, want %v", when, name, got, want)
			}
		}
		type chunks = map[uint64]time.Duration
		want("nobody", "r", chunks{})

		a := holding("a", 1, 2)
		a.Held[0].Searching = true
		a.Held = append(a.Held, run.HeldChunk{Run: "s", Chunk: 2}, run.HeldChunk{Run: "s", Chunk: 5})
		r.ObserveHeartbeat(a)
		want("one worker", "r", chunks{1: 0, 2: 0})
		want("one worker", "s", chunks{2: 0, 5: 0})
		want("one worker", "q", chunks{})

		// Several workers name chunk 2, which was delivered again. Of so many, one in any order
		// is not the latest by chance.
		others := []string{"c", "d", "e", "f", "g", "h"}
		for _, name := range others {
			time.Sleep(time.Second / 10)
			r.ObserveHeartbeat(holding(name, 2))
		}
		time.Sleep(2*time.Second - time.Since(start))
		r.ObserveHeartbeat(holding("b", 2, 3))
		want("others have chunk 2", "r", chunks{1: 0, 2: 2 * time.Second, 3: 2 * time.Second})
		want("others have chunk 2 of another run", "s", chunks{2: 0, 5: 0})

		for _, name := range others {
			r.ObserveHeartbeat(leave(name))
		}
		time.Sleep(time.Second)
		r.ObserveHeartbeat(holding("b", 3, 4))
		want("the first alone has chunk 2", "r", chunks{1: 0, 2: 0, 3: 3 * time.Second, 4: 3 * time.Second})

		time.Sleep(heartbeatTimeout - 3*time.Second)
		want("the first is present for 15 s", "r", chunks{1: 0, 2: 0, 3: 3 * time.Second, 4: 3 * time.Second})
		time.Sleep(time.Nanosecond)
		want("the first is silent", "r", chunks{3: 3 * time.Second, 4: 3 * time.Second})
		want("the first is silent", "s", chunks{})
	})
}

// Heartbeats and questions may be concurrent. The race detector sees more of it.
func TestRosterIsSafeForConcurrentUse(t *testing.T) {
	const workers, heartbeats = 8, 200
	r := progress.NewRoster()
	var wg sync.WaitGroup
	for i := range workers {
		name := fmt.Sprintf("worker-%d", i)
		wg.Go(func() {
			for range heartbeats {
				r.ObserveHeartbeat(heartbeat(name, 2))
				r.ObserveHeartbeat(leave(name))
			}
			r.ObserveHeartbeat(heartbeat(name, 2))
		})
		wg.Go(func() {
			for range heartbeats {
				if f := r.Present(); f.Workers > workers || f.Threads != 2*f.Workers {
					t.Errorf("%d workers with %d threads", f.Workers, f.Threads)
				}
				if held := r.Held("r", nil); len(held) > 0 {
					t.Errorf("nobody holds %v", held)
				}
				if names, gone := namesOf(r), r.Expire(); len(names) > workers || len(gone) > 0 {
					t.Errorf("present are %q, expired %+v", names, gone)
				}
			}
		})
	}
	wg.Wait()
	wantPresent(t, r, "at the end", workers, 2*workers)
}

// A run is another one that shares the workers from its announcement until it ends, or has been silent.
func TestOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		announcement := func(name string, state run.State) {
			r.ObserveAnnouncement(run.Announcement{Run: name, Epoch: 1, State: state})
		}
		expect := func(when string, want ...string) {
			t.Helper()
			if got := r.Others("ours"); !slices.Equal(got, want) {
				t.Errorf("%s: others are %q, want %q", when, got, want)
			}
		}
		expect("at the start")
		announcement("b", run.Running)
		announcement("a", run.Running)
		announcement("ours", run.Running)
		expect("after announcements", "a", "b")
		time.Sleep(run.SilentAfter)
		announcement("a", run.Running)
		expect("just before b is silent", "a", "b")
		time.Sleep(time.Nanosecond)
		expect("once b is silent", "a")
		announcement("a", run.Complete)
		expect("at the end of a")
		for i := range 5000 {
			announcement(fmt.Sprint("r", i), run.Running)
		}
		if got := r.Others("ours"); len(got) != run.MaxSharing {
			t.Errorf("%d others, want %d", len(got), run.MaxSharing)
		}
	})
}

// Threads are idle that search nothing: as a worker says, or else one for each chunk in search is not.
func TestIdle(t *testing.T) {
	searched := []run.HeldChunk{{Run: "r", Chunk: 1, Searching: true}, {Run: "r", Chunk: 2, Searching: true}, {Run: "r", Chunk: 3}}
	for _, test := range []struct {
		threads, busy int
		held          []run.HeldChunk
		want          int
	}{
		{threads: 8, held: searched, want: 6},                  // it does not say
		{threads: 128, busy: 128, held: searched, want: 0},     // a device
		{threads: 130, busy: 128, held: searched, want: 2},     // a device, and idle threads beside it
		{threads: 4, busy: 1, held: searched, want: 2},         // it says less than its chunks
		{threads: 1, busy: 0, held: searched, want: 0},         // more chunks than threads
		{threads: 128, busy: 0, held: searched[2:], want: 128}, // it has begun nothing
	} {
		r := progress.NewRoster()
		r.ObserveHeartbeat(run.Heartbeat{Worker: "w", Threads: test.threads, Busy: test.busy, Held: test.held})
		if got := r.Present().Idle; got != test.want {
			t.Errorf("%d of %d threads are idle, want %d of %+v", got, test.threads, test.want, test)
		}
	}
}

// Everyone lists all workers present, also more than a snapshot does, with the chunk of the run that
// each has searched the longest.
func TestEveryone(t *testing.T) {
	r := progress.NewRoster()
	busy := heartbeat("b", 2)
	busy.Key, busy.Admission = "key", []byte("proof")
	busy.Held = []run.HeldChunk{
		{Run: "n8-a", Chunk: 1, Searching: true, Elapsed: time.Second},
		{Run: "n8-a", Chunk: 2, Searching: true, Elapsed: 2 * time.Second},
		{Run: "n8-b", Chunk: 3, Searching: true, Elapsed: time.Minute},
		{Run: "n8-a", Chunk: 4, Elapsed: time.Hour},
	}
	r.ObserveHeartbeat(busy)
	r.ObserveHeartbeat(heartbeat("a", 1))
	all := r.Everyone("n8-a")
	if len(all) != 2 || all[0].Name != "a" || all[0].Chunk != 0 || all[1].Name != "b" || all[1].Chunk != 2 || all[1].Elapsed != 2*time.Second ||
		all[1].Key != "key" || all[1].Held != 3 || all[1].Oldest.Duration < time.Minute {
		t.Errorf("present are %+v", all)
	}
	for i := range 2 * run.MaxWorkers {
		r.ObserveHeartbeat(heartbeat(fmt.Sprint(i), 1))
	}
	if all := r.Everyone("n8-a"); len(all) != 2*run.MaxWorkers+2 || !slices.IsSortedFunc(all, func(a, b progress.Presence) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("%d workers are present, want %d, sorted", len(all), 2*run.MaxWorkers+2)
	}
}

// While heartbeats are dropped, and for 30 seconds after, silence shows nothing: no worker is lost, and what
// silent ones hold stays held.
func TestNobodyIsLostWhileHeartbeatsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		h := heartbeat("a", 1)
		h.Held = []run.HeldChunk{{Run: "n8-a", Chunk: 7}}
		r.ObserveHeartbeat(h)
		expect := func(when string, lost, held int) {
			t.Helper()
			if have := len(r.Held("n8-a", nil)); have != held {
				t.Errorf("%s: %d chunks are held, want %d", when, have, held)
			}
			if have := len(r.Expire()); have != lost {
				t.Errorf("%s: %d workers are lost, want %d", when, have, lost)
			}
		}
		for range 5 {
			time.Sleep(10 * time.Second)
			r.NoteDropped()
			expect("while heartbeats are dropped", 0, 1)
		}
		time.Sleep(2 * heartbeatTimeout)
		expect("30 s later", 0, 1)
		time.Sleep(time.Second)
		expect("then", 1, 0)
	})
}

func namesOf(r *progress.Roster) (names []string) {
	for _, p := range r.Everyone("") {
		names = append(names, p.Name)
	}
	return names
}

// A worker that pauses is present with its reason, and is not lost, but has no threads, searches nothing, and
// is no voter, until it says that it counts again.
func TestPausedWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := progress.NewRoster()
		paused, other := heartbeat("a", 4), heartbeat("b", 2)
		paused.Paused = "on battery"
		for range 5 {
			r.ObserveHeartbeat(paused)
			r.ObserveHeartbeat(other)
			r.ObserveResult("", "a", 100, time.Second)
			time.Sleep(10 * time.Second)
		}
		wantPresent(t, r, "while one pauses", 2, 2)
		if lost, f := r.Expire(), r.Present(); len(lost) > 0 || f.Idle != 2 || f.Paused != 1 {
			t.Errorf("%d workers are lost, %d threads idle and %d workers pause, want 0, 2 and 1", len(lost), f.Idle, f.Paused)
		}
		want := run.Worker{Name: "a", Kernel: "generic", Threads: 4, Paused: "on battery"}
		if workers := r.Workers(); len(workers) != 2 || workers[0] != want {
			t.Errorf("the workers are %+v, want the first to be %+v", workers, want)
		}
		voters := 0
		for _, i := range r.Identities() {
			if !i.Paused {
				voters++
			}
		}
		if voters != 1 {
			t.Errorf("%d workers may be voters, want 1", voters)
		}
		r.ObserveHeartbeat(heartbeat("a", 4))
		wantPresent(t, r, "when none pauses", 2, 6)
	})
}
