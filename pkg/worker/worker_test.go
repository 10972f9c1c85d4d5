package worker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/run"
	"nqueens/pkg/worker"
)

// These tests run on fake time, with fake queues and a fake kernel.

// The counts of all tasks of a chunk are stored, in their order, before the chunk is
// acknowledged.
func TestResultBeforeAck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var next atomic.Uint64
		w := start(t, 1, func(context.Context, *atomic.Uint64) (uint64, error) { return next.Add(1), nil })
		c := chunk(7, 3)
		l := w.queue.lend(c)
		time.Sleep(time.Second)
		w.stop()
		l.want(t, "counted", "acknowledged")
		if w.publisher.storedAt.IsZero() || l.at.Before(w.publisher.storedAt) {
			t.Errorf("acknowledged at %v, stored at %v", l.at, w.publisher.storedAt)
		}
		if len(w.publisher.results) != 1 || len(w.publisher.results[0].Counts) != 3 {
			t.Fatalf("stored %+v", w.publisher.results)
		}
		got := w.publisher.results[0]
		if got.Run != "r" || got.Chunk != 7 || got.First != 7000 || got.Worker != "w" {
			t.Errorf("stored %+v", got)
		}
		for i, count := range got.Counts {
			task := c.Task(i)
			if count.Count != uint64(i+1) || count.Hash != task.Hash() || count.Kernel != "fake" {
				t.Errorf("task %d: stored %+v", i, count)
			}
		}
	})
}

// While results can't be stored, the worker holds them, extends the leases, tries again ever less
// often, and does not acknowledge the chunks.
func TestUnstoredResultIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 1, counting(5))
		w.publisher.refuse(errors.New("maximum bytes exceeded"))
		l := w.queue.lend(chunk(1, 1))
		time.Sleep(time.Minute)
		if l.count("acknowledged") != 0 || l.count("extended") < 19 {
			t.Errorf("in a minute in which no result could be stored the lease was %v", l.all())
		}
		// Pauses of 0.5, 1, 2, 4, 8 and then 10 s, with jitter of a half.
		if n := w.publisher.tried(); n < 5 || n > 17 {
			t.Errorf("%d attempts in a minute, want about 9", n)
		}
		w.publisher.refuse(nil)
		time.Sleep(16 * time.Second)
		if l.count("acknowledged") != 1 || w.publisher.stored() != 1 {
			t.Errorf("after that the lease was %v, %d results were stored", l.all(), w.publisher.stored())
		}
		w.stop()
	})
}

// The lease of a search that advances is extended, through all tasks of the chunk. The lease of a
// stalled search lapses, and so does that of the chunk that waits behind it.
func TestLeaseFollowsTheSearch(t *testing.T) {
	for name, test := range map[string]struct {
		advances bool
		tasks    int
		task     time.Duration
	}{
		"advances":            {true, 1, time.Hour},
		"stalls":              {false, 1, time.Hour},
		"advances with tasks": {false, 100, time.Second}, // the kernel's pulse is too slow to show
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, 1, func(ctx context.Context, pulse *atomic.Uint64) (uint64, error) {
					for end := time.Now().Add(test.task); ctx.Err() == nil; {
						if time.Now().Equal(end) {
							return 1, nil
						}
						if test.advances {
							pulse.Add(1)
						}
						select {
						case <-ctx.Done():
						case <-time.After(time.Second):
						}
					}
					return 0, context.Cause(ctx)
				})
				searched, waiting := w.queue.lend(chunk(1, test.tasks)), w.queue.lend(chunk(2, test.tasks))
				time.Sleep(30 * time.Second)
				least, most := 9, 10
				if name == "stalls" {
					least, most = 0, 1 // hashing the task was progress
				}
				for name, l := range map[string]*fakeLease{"searched": searched, "waiting": waiting} {
					if got := l.count("extended"); got < least || got > most {
						t.Errorf("the lease of the chunk %s was extended %d times in 30 s, want %d to %d", name, got, least, most)
					}
				}
				w.stop()
			})
		})
	}
}

// A worker that may be idle for so long leaves when it has held no chunk for that time, and not
// while it searches.
func TestIdleExit(t *testing.T) {
	const idle, search = 5 * time.Minute, 12 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 1, lasting(search), func(c *worker.Config) { c.IdleExit = idle })
		started := time.Now()
		time.Sleep(idle - time.Second)
		l := w.queue.lend(chunk(1, 1))
		if err := w.ended(); err != nil {
			t.Error(err)
		}
		if took, want := time.Since(started), idle-time.Second+search+idle; took < want-time.Second || took > want+time.Second {
			t.Errorf("the worker left after %v, want %v", took, want)
		}
		l.want(t, "counted", "acknowledged")
	})
}

// A worker that can't subscribe to announcements tries again, takes and says nothing until then, and
// can be stopped.
func TestNoSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture()
		w.telemetry.refusal = errors.New("not connected")
		go func() {
			time.Sleep(time.Minute)
			w.telemetry.mu.Lock()
			defer w.telemetry.mu.Unlock()
			w.telemetry.refusal = nil
		}()
		w.run(t, 1, fakeKernel(t, counting(5)))
		w.announcements(t, "r", 1)
		l := w.queue.lend(chunk(1, 1))
		time.Sleep(time.Second)
		l.want(t, "counted", "acknowledged")
		w.stop()
		if w.telemetry.early {
			t.Error("a heartbeat came before the subscription to announcements")
		}
	})
}

// A worker that is stopped releases at once what it has not begun, finishes the searches that end
// within the grace, and reports what it has counted of others. It releases those of which it
// has counted nothing.
func TestStop(t *testing.T) {
	for _, test := range []struct {
		name   string
		search time.Duration // of a task
		want   string
		counts int // of the 3 tasks
		took   time.Duration
	}{
		{"short search is finished", grace / 4, "acknowledged", 3, 3 * grace / 4},
		{"part is reported", 2 * grace / 5, "acknowledged", 2, grace},
		{"long search is released", time.Hour, "released", 0, grace},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, 1, lasting(test.search))
				searched, waiting := w.queue.lend(chunk(1, 3)), w.queue.lend(chunk(2, 3))
				for w.queue.taken.Load() < 2 {
					time.Sleep(time.Millisecond)
				}
				time.Sleep(2 * roundTrip)
				stopped := time.Now()
				w.stop()
				if got := time.Since(stopped) - test.took; got < -20*time.Millisecond || got > 20*time.Millisecond {
					t.Errorf("took %v more than %v to stop", got, test.took)
				}
				searched.want(t, "searched", test.want)
				waiting.want(t, "waiting", "released")
				if !waiting.at.Equal(stopped) {
					t.Errorf("the waiting chunk was released %v after the stop", waiting.at.Sub(stopped))
				}
				counts := 0
				for _, r := range w.publisher.results {
					counts += len(r.Counts)
				}
				if counts != test.counts {
					t.Errorf("stored %d counts, want %d", counts, test.counts)
				}
			})
		})
	}
}

// A worker that stops while results can't be stored releases its chunks.
func TestStopWithUnstoredResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 1, counting(5))
		w.publisher.refuse(errors.New("no responders"))
		l := w.queue.lend(chunk(1, 1))
		time.Sleep(time.Second)
		w.stop()
		l.want(t, "not stored", "released")
	})
}

// Each thread searches a chunk, and one more is fetched ahead.
func TestThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var searching atomic.Int32
		w := start(t, 3, func(ctx context.Context, _ *atomic.Uint64) (uint64, error) {
			searching.Add(1)
			<-ctx.Done()
			return 0, context.Cause(ctx)
		})
		for id := range uint64(10) {
			w.queue.lend(chunk(id+1, 1))
		}
		time.Sleep(3 * time.Second)
		if got := searching.Load(); got != 3 {
			t.Errorf("%d searches at once, want 3", got)
		}
		if got := w.queue.taken.Load(); got != 4 {
			t.Errorf("%d chunks taken, want one a thread and one more", got)
		}
		w.stop()
	})
}

// No goroutine of the worker is left when it has ended in the middle of everything: synctest
// fails if one is.
func TestStopInTheMiddle(t *testing.T) {
	for after := range 30 {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, 2, lasting(3*time.Millisecond))
			for id := range uint64(50) {
				w.queue.lendWith(&fakeLease{again: int(id) % 2}, chunk(id+1, 2))
			}
			time.Sleep(time.Duration(after) * time.Millisecond)
			w.telemetry.send(run.Announcement{Run: "r", State: []run.State{run.Stopped, run.Complete, run.Running}[after%3]})
			w.stop()
		})
	}
}
