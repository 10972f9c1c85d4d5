package worker_test

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/run"
	"nqueens/pkg/worker"
)

// searchingAndWaiting returns a fixture whose worker searches chunk 1 of run r and holds chunk 2.
func searchingAndWaiting(t *testing.T) (w *fixture, endAnnouncements func(), searched, waiting *fakeLease) {
	t.Helper()
	w = newFixture()
	w.run(t, 1, fakeKernel(t, lasting(time.Hour)))
	searched, waiting = w.queue.lend(chunk(1, 2)), w.queue.lend(chunk(2, 2))
	endAnnouncements = w.announcements(t, "r", 1)
	time.Sleep(time.Second)
	searched.want(t, "before the test", []string{}...)
	if w.queue.taken.Load() != 2 {
		t.Fatalf("%d chunks taken, want 2", w.queue.taken.Load())
	}
	return w, endAnnouncements, searched, waiting
}

// When a run ends, the worker gives up its chunks at once: those of a run that may be resumed are
// released, those that nobody needs are removed.
func TestRunEnds(t *testing.T) {
	for state, want := range map[run.State]string{
		run.Stopped:      "released",
		run.Complete:     "acknowledged",
		run.Contradicted: "acknowledged",
		run.Cancelled:    "acknowledged",
	} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, endAnnouncements, searched, waiting := searchingAndWaiting(t)
				endAnnouncements()
				w.telemetry.send(run.Announcement{Run: "other", State: state})
				time.Sleep(time.Second)
				searched.want(t, "when another run has ended", []string{}...)
				w.telemetry.send(run.Announcement{Run: "r", State: state})
				synctest.Wait()
				searched.want(t, "searched", want)
				waiting.want(t, "waiting", want)
				w.stop()
				if w.publisher.stored() > 0 {
					t.Errorf("stored %+v", w.publisher.results)
				}
			})
		})
	}
}

// The worker removes the chunks that an announcement names as obsolete, and searches the others.
func TestObsoleteChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, searched, waiting := searchingAndWaiting(t)
		w.queue.lend(chunk(3, 2)) // it is taken when chunk 2 is begun
		w.telemetry.send(run.Announcement{Run: "other", State: run.Running, Obsolete: []uint64{1, 2, 3}})
		synctest.Wait()
		searched.want(t, "named by another run", []string{}...)
		w.telemetry.send(run.Announcement{Run: "r", State: run.Running, Obsolete: []uint64{7, 1, 3}})
		time.Sleep(time.Second)
		searched.want(t, "searched", "acknowledged")
		time.Sleep(3 * time.Second)
		if held, _ := w.telemetry.last(); len(held) != 2 || held[0].Chunk != 2 || !held[0].Searching {
			t.Errorf("holds %+v, want the search of chunk 2, and chunk 3", held)
		}
		waiting.want(t, "waiting", []string{}...)
		w.telemetry.send(run.Announcement{Run: "r", State: run.Running, Obsolete: []uint64{2}})
		synctest.Wait()
		waiting.want(t, "then searched", "acknowledged")
		w.stop()
	})
}

// A chunk whose result is on its way is reported though its run stops, falls silent or calls it
// obsolete; but not once the run has its total, or is cancelled.
func TestReportsAfterTheRun(t *testing.T) {
	for name, test := range map[string]struct {
		announcement run.Announcement
		stored       bool
	}{
		"stopped":   {run.Announcement{State: run.Stopped}, true},
		"silent":    {run.Announcement{State: run.Running}, true},
		"obsolete":  {run.Announcement{State: run.Running, Obsolete: []uint64{1}}, true},
		"complete":  {run.Announcement{State: run.Complete}, false},
		"cancelled": {run.Announcement{State: run.Cancelled}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFixture()
				w.run(t, 1, fakeKernel(t, counting(5)))
				endAnnouncements := w.announcements(t, "r", 1)
				w.publisher.refuse(errors.New("maximum bytes exceeded"))
				l := w.queue.lend(chunk(1, 1))
				time.Sleep(time.Second)
				endAnnouncements()
				test.announcement.Run = "r"
				w.telemetry.send(test.announcement)
				time.Sleep(20 * time.Second)
				if removed := l.count("acknowledged") > 0; removed == test.stored {
					t.Errorf("the result can't be stored, and the lease was %v", l.all())
				}
				w.publisher.refuse(nil)
				time.Sleep(20 * time.Second)
				l.want(t, "at last", "acknowledged")
				if stored := w.publisher.stored() == 1; stored != test.stored {
					t.Errorf("stored %v, want %v", w.publisher.results, test.stored)
				}
				w.stop()
			})
		})
	}
}

// A run without announcements is silent within 10 s: its chunks are released, and no more are taken. With
// the next announcement it is alive.
func TestSilentRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, endAnnouncements, searched, waiting := searchingAndWaiting(t)
		endAnnouncements()
		time.Sleep(run.SilentAfter - 3*time.Second)
		searched.want(t, "not silent for long", []string{}...)
		time.Sleep(10*time.Second - run.SilentAfter + 3*time.Second)
		searched.want(t, "searched", "released")
		waiting.want(t, "waiting", "released")
		from := time.Now()
		w.queue.lend(chunk(3, 1))
		time.Sleep(time.Minute)
		if got := w.queue.since(from); len(got) > 0 || w.queue.taken.Load() != 2 {
			t.Errorf("of a silent run the worker requests %v", got)
		}
		w.announcements(t, "r", 1)
		time.Sleep(time.Second)
		if w.queue.taken.Load() != 3 {
			t.Error("takes nothing when the run is alive again")
		}
		w.stop()
	})
}

// A burst of announcements of runs that do not exist holds a worker up for seconds, and no longer: it knows at most 1000 runs, asks
// no queue of a run that is silent by then, and knows new runs soon after.
func TestInventedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture()
		w.run(t, 1, fakeKernel(t, counting(1)))
		w.announcements(t, "r", 1)
		burst := func(prefix string, delay time.Duration) {
			w.queue.set(func() { w.queue.delay = delay })
			for i := range 5000 {
				w.telemetry.send(run.Announcement{Run: prefix + strconv.Itoa(i), Epoch: 1, State: run.Running, Weight: 1, Waiting: 1})
			}
		}
		from := time.Now()
		burst("a", roundTrip)
		time.Sleep(run.SilentAfter)
		asked := make(map[string]bool)
		for _, r := range w.queue.since(from) {
			asked[r.run] = true
		}
		if len(asked) > 1000 {
			t.Errorf("the worker asks for chunks of %d runs, want 1000 at most", len(asked))
		}
		time.Sleep(2 * time.Second)
		burst("b", time.Second)
		time.Sleep(run.SilentAfter + 3*time.Second)
		w.announcements(t, "new", 1)
		w.queue.lend(chunk(1, 1))
		w.queue.lend(chunkOf("new", 2, 1))
		time.Sleep(run.SilentAfter)
		if taken := w.queue.taken.Load(); taken != 2 {
			t.Errorf("%d chunks taken after a burst, want that of an old run and that of a new one", taken)
		}
		w.stop()
	})
}

// Without a connection no run falls silent, and when there is one again all have their full time
// for the next announcement.
func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, endAnnouncements, searched, _ := searchingAndWaiting(t)
		endAnnouncements()
		w.telemetry.disconnect(errors.New("no server"))
		from := time.Now().Add(time.Second)
		time.Sleep(time.Hour)
		searched.want(t, "without a connection", []string{}...)
		if got := w.queue.since(from); len(got) > 0 {
			t.Errorf("without a connection the worker requests %v", got)
		}
		w.telemetry.disconnect(nil)
		time.Sleep(run.SilentAfter - time.Second)
		searched.want(t, "not silent for long", []string{}...)
		time.Sleep(3 * time.Second)
		searched.want(t, "silent", "released")
		w.stop()
	})
}

// Without a connection a worker requests nothing, though the last announcement said that chunks are waiting.
func TestNoRequestsWithoutAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture()
		w.run(t, 1, fakeKernel(t, counting(5)))
		w.telemetry.send(run.Announcement{Run: "r", State: run.Running})
		time.Sleep(3 * time.Second)
		w.telemetry.send(run.Announcement{Run: "r", State: run.Running, Waiting: 5})
		w.telemetry.disconnect(errors.New("no server"))
		time.Sleep(watchTime)
		from := time.Now()
		time.Sleep(time.Hour)
		if got := w.queue.since(from); len(got) > 0 {
			t.Errorf("without a connection the worker requests %v", got)
		}
		w.telemetry.disconnect(nil)
		time.Sleep(watchTime)
		if got := w.queue.since(from); len(got) == 0 {
			t.Error("with a connection again it requests nothing")
		}
		w.stop()
	})
}

// watchTime is how soon a worker knows that its connection is lost or back.
const watchTime = 600 * time.Millisecond

// Announcements of an older coordinator are ignored while a newer one is alive.
func TestOlderCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, endAnnouncements, searched, _ := searchingAndWaiting(t)
		endAnnouncements()
		w.telemetry.send(run.Announcement{Run: "r", Epoch: 3, State: run.Running})
		w.telemetry.send(run.Announcement{Run: "r", Epoch: 2, State: run.Stopped})
		w.telemetry.send(run.Announcement{Run: "r", Epoch: 2, State: run.Running, Obsolete: []uint64{1}})
		time.Sleep(run.SilentAfter - time.Second)
		searched.want(t, "after an announcement of an older coordinator", []string{}...)
		w.telemetry.send(run.Announcement{Run: "r", Epoch: 2, State: run.Running}) // prolongs nothing
		time.Sleep(2 * time.Second)
		searched.want(t, "silent", "released")
		w.telemetry.send(run.Announcement{Run: "r", Epoch: 2, State: run.Running})
		l := w.queue.lend(chunk(5, 1))
		time.Sleep(time.Second)
		if w.queue.taken.Load() != 3 {
			t.Errorf("a run whose newer coordinator is gone is not alive again: %v", l.all())
		}
		w.stop()
	})
}

// A chunk of a run that is not alive is never searched, though a pull brings it.
func TestChunkOfADeadRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 1, counting(5))
		time.Sleep(time.Second)
		unheard := new(fakeLease)
		w.queue.parked <- run.Loan{Chunk: chunkOf("unheard", 1, 1), Lease: unheard}
		w.telemetry.send(run.Announcement{Run: "ended", State: run.Running})
		time.Sleep(time.Second)
		w.telemetry.send(run.Announcement{Run: "ended", State: run.Complete})
		ended := w.queue.lend(chunkOf("ended", 1, 1)) // the parked pull is still there
		time.Sleep(time.Second)
		w.stop()
		unheard.want(t, "a run that was not heard of", "postponed 10s")
		ended.want(t, "a run that has ended", "postponed 10s")
		if w.publisher.stored() > 0 {
			t.Errorf("stored %+v", w.publisher.results)
		}
	})
}

// A worker leaves a chunk with a task that it has counted to others, but not for ever.
func TestCountedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 1, counting(5))
		w.queue.lend(chunk(1, 3)) // tasks 1000 to 1002
		time.Sleep(time.Second)
		again := func(first, id uint64) run.Chunk {
			c := chunk(id, 2)
			c.First = first
			return c
		}
		for deliveries, want := range []string{"postponed 1s", "postponed 1s", "postponed 1s", "acknowledged", "acknowledged"} {
			l := w.queue.lendWith(&fakeLease{again: deliveries}, again(1002, uint64(10+deliveries)))
			time.Sleep(5 * time.Second)
			l.want(t, "with a counted task", want)
		}
		others := w.queue.lend(again(2000, 20))
		time.Sleep(5 * time.Second)
		others.want(t, "with new tasks", "acknowledged")
		w.announcements(t, "s", 1)
		same := chunkOf("s", 1, 3) // the same tasks
		l := w.queue.lend(same)
		time.Sleep(5 * time.Second)
		l.want(t, "another run", "acknowledged")
		w.stop()
	})
}

// A worker declines tasks that another one with the same memory has counted: they share a key, and a
// second count of the same key is worth nothing.
func TestCountedTaskOfTheSameKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted := new(worker.CountedTasks)
		share := func(c *worker.Config) { c.Counted = counted }
		first, second, other := start(t, 1, counting(5), share), start(t, 1, counting(5), share), start(t, 1, counting(5))
		first.queue.lend(chunk(1, 3))
		time.Sleep(time.Second)
		copied := chunk(2, 3)
		copied.First = 1000
		for want, w := range map[string]*fixture{"postponed 1s": second, "acknowledged": other} {
			l := w.queue.lend(copied)
			time.Sleep(5 * time.Second)
			l.want(t, "with a counted task", want)
		}
		first.stop()
		second.stop()
		other.stop()
	})
}

// A worker does not decline tasks that it counted and could not report: the chunk was released.
func TestUnreportedTaskIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture()
		w.run(t, 1, fakeKernel(t, lasting(2*time.Second)))
		endAnnouncements := w.announcements(t, "r", 1)
		l := w.queue.lend(chunk(1, 3))
		time.Sleep(3 * time.Second) // one task is counted
		endAnnouncements()
		w.telemetry.send(run.Announcement{Run: "r", State: run.Stopped})
		synctest.Wait()
		l.want(t, "stopped", "released")
		w.announcements(t, "r", 1)
		l = w.queue.lendWith(&fakeLease{again: 1}, chunk(1, 3))
		time.Sleep(10 * time.Second)
		l.want(t, "resumed", "acknowledged")
		w.stop()
	})
}
