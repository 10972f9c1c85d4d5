package worker_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/kernel"
	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/worker"
)

const (
	leaseTime = 9 * time.Second // extended every 3 s
	grace     = time.Second
)

// The tests below run on fake time against a queue and a kernel that do as told.

// A result is stored before its task is given up, and carries what was counted.
func TestResultBeforeAck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, 1, counting(5))
		l := w.queue.lend(task(7))
		synctest.Wait()
		w.stop()
		if len(l.deeds) != 1 || l.deeds[0] != "done" {
			t.Fatalf("the lease saw %v, want done alone", l.deeds)
		}
		if w.outbox.storedAt.IsZero() || l.at.Before(w.outbox.storedAt) {
			t.Errorf("given up at %v, stored at %v", l.at, w.outbox.storedAt)
		}
		got := w.outbox.results[0]
		if got.Task != 7 || got.Count != 5 || got.Hash != new(task(7)).Hash() || got.Attempt != 3 || got.Worker != "w" || got.Kernel != "fake" {
			t.Errorf("stored %+v", got)
		}
		if err := got.Validate(); err != nil {
			t.Error(err)
		}
	})
}

// While results can't be stored the worker holds them, extends their leases, and
// does not give the tasks up.
func TestUnstoredResultIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, 1, counting(5))
		w.outbox.refuse(errors.New("maximum bytes exceeded"))
		l := w.queue.lend(task(1))
		time.Sleep(time.Minute)
		if l.count("done") != 0 || l.count("extended") < 19 {
			t.Errorf("in a minute without a place for results the lease saw %v", l.deeds)
		}
		w.outbox.refuse(nil)
		time.Sleep(2 * time.Second)
		if l.count("done") != 1 || len(w.outbox.results) != 1 {
			t.Errorf("with a place again the lease saw %v, %d results stored", l.deeds, len(w.outbox.results))
		}
		w.stop()
	})
}

// The lease of a search that advances is extended; that of one that stands still is
// left to lapse, and so is that of the task that waits behind it.
func TestLeaseFollowsTheSearch(t *testing.T) {
	for name, advances := range map[string]bool{"advances": true, "stands still": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := begin(t, 1, func(ctx context.Context, pulse *atomic.Uint64) (uint64, error) {
					for ctx.Err() == nil {
						if advances {
							pulse.Add(1)
						}
						select {
						case <-ctx.Done():
						case <-time.After(time.Second):
						}
					}
					return 0, context.Cause(ctx)
				})
				searched, waiting := w.queue.lend(task(1)), w.queue.lend(task(2))
				time.Sleep(30 * time.Second)
				want := 0
				if advances {
					want = 9
				}
				for name, l := range map[string]*fakeLease{"searched": searched, "waiting": waiting} {
					if got := l.count("extended"); got < want || !advances && got > 0 {
						t.Errorf("the lease of the task %s was extended %d times in 30 s, want %d", name, got, want)
					}
				}
				w.stop()
			})
		})
	}
}

// Told to stop, a worker hands back at once what it has not begun, lets a search
// finish that can within the grace, and hands back one that can't.
func TestStop(t *testing.T) {
	for _, test := range []struct {
		name   string
		search time.Duration
		want   string
		took   time.Duration
	}{
		{"short search is finished", grace / 2, "done", grace / 2},
		{"long search is handed back", time.Hour, "returned", grace},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := begin(t, 1, lasting(test.search))
				searched, waiting := w.queue.lend(task(1)), w.queue.lend(task(2))
				synctest.Wait()
				told := time.Now()
				w.stop()
				if got := time.Since(told) - test.took; got < 0 || got > 10*time.Millisecond {
					t.Errorf("took %v more than %v to stop", got, test.took)
				}
				if searched.count(test.want) != 1 || len(searched.deeds) != 1 {
					t.Errorf("the searched task was %v, want %s", searched.deeds, test.want)
				}
				if waiting.count("returned") != 1 || !waiting.at.Equal(told) {
					t.Errorf("the waiting task was %v, want returned at once", waiting.deeds)
				}
			})
		})
	}
}

// A worker that stops while results can't be stored hands its tasks back.
func TestStopWithUnstoredResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, 1, counting(5))
		w.outbox.refuse(errors.New("no responders"))
		l := w.queue.lend(task(1))
		time.Sleep(time.Second)
		w.stop()
		if l.count("returned") != 1 || l.count("done") != 0 {
			t.Errorf("the lease saw %v, want returned", l.deeds)
		}
	})
}

// Threads count side by side, and with one more task at hand.
func TestThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var searching atomic.Int32
		w := begin(t, 3, func(ctx context.Context, _ *atomic.Uint64) (uint64, error) {
			searching.Add(1)
			<-ctx.Done()
			return 0, context.Cause(ctx)
		})
		for id := range uint64(10) {
			w.queue.lend(task(id))
		}
		time.Sleep(time.Second)
		if got := searching.Load(); got != 3 {
			t.Errorf("%d searches at once, want 3", got)
		}
		if got := w.queue.taken.Load(); got != 4 {
			t.Errorf("%d tasks taken, want one a thread and one more", got)
		}
		w.stop()
	})
}

// Through the real server, several workers at once: every task is counted as the
// oracle counts it.
func TestAgainstTheOracle(t *testing.T) {
	server := bustest.Server(t)
	b := bustest.Connect(t, server)
	if err := b.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	const n, runName = 8, "oracle"
	want := make(map[uint64]uint64)
	board := queens.FullBoard(n)
	for column := range n {
		task := queens.Task{
			Run: runName, ID: uint64(column), Attempt: 1, Board: board,
			Prefixes: []queens.Prefix{queens.Prefix{}.Place(&board, 1<<column)},
		}
		want[task.ID] = oracle.Count(n, func(int, int) bool { return true }, []int{column})
		if _, err := b.Tasks().Publish(t.Context(), &task); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	generic, err := kernel.Choose("generic")
	if err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	for range 3 {
		w, err := worker.New(worker.Config{
			Name: worker.NewName(), Kernel: generic, Threads: 2, Lease: bus.DefaultLease, Log: zerolog.Nop(),
		}, b.Queue(), b.Results(), b.Telemetry())
		if err != nil {
			t.Fatal(err)
		}
		workers.Go(func() { w.Run(ctx) })
	}
	got := make(map[uint64]uint64)
	if err := b.Results().Read(ctx, runName, run.StreamPosition{}, func(r queens.Result, _ run.StreamPosition) {
		got[r.Task] = r.Count
		if len(got) == len(want) {
			stop()
		}
	}, func() {}); err != nil {
		t.Fatal(err)
	}
	workers.Wait()
	bustest.NoGoroutines(t, "nqueens/pkg/worker.")
	for id, count := range want {
		if got[id] != count {
			t.Errorf("task %d: counted %d, the oracle %d", id, got[id], count)
		}
	}
}

func TestValidate(t *testing.T) {
	good := worker.Config{Name: "w", Kernel: fakeKernel(counting(0)), Threads: 1, Lease: leaseTime}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*worker.Config){
		"name":    func(c *worker.Config) { c.Name = "" },
		"kernel":  func(c *worker.Config) { c.Kernel = kernel.Kernel{} },
		"threads": func(c *worker.Config) { c.Threads = 0 },
		"lease":   func(c *worker.Config) { c.Lease = 0 },
		"grace":   func(c *worker.Config) { c.Grace = -1 },
	} {
		bad := good
		spoil(&bad)
		if bad.Validate() == nil {
			t.Errorf("a wrong %s passes", name)
		}
	}
}
