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
	"nqueens/pkg/testkit"
	"nqueens/pkg/worker"
)

const (
	leaseTime = 9 * time.Second // extended every 3 s
	grace     = time.Second
)

// Most of these tests run on fake time, with a fake queue and kernel.

// A result is stored before its task is acknowledged.
func TestResultBeforeAck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 1, counting(5))
		l := w.queue.lend(task(7))
		synctest.Wait()
		w.stop()
		if len(l.calls) != 1 || l.calls[0] != "acknowledged" {
			t.Fatalf("the lease was %v, want acknowledged alone", l.calls)
		}
		if w.publisher.storedAt.IsZero() || l.at.Before(w.publisher.storedAt) {
			t.Errorf("acknowledged at %v, stored at %v", l.at, w.publisher.storedAt)
		}
		got := w.publisher.results[0]
		if got.Task != 7 || got.Count != 5 || got.Hash != new(task(7)).Hash() || got.Attempt != 3 || got.Worker != "w" || got.Kernel != "fake" {
			t.Errorf("stored %+v", got)
		}
		if err := got.Validate(); err != nil {
			t.Error(err)
		}
	})
}

// While results can't be stored, the worker holds them, extends the leases, and does not
// acknowledge the tasks.
func TestUnstoredResultIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 1, counting(5))
		w.publisher.refuse(errors.New("maximum bytes exceeded"))
		l := w.queue.lend(task(1))
		time.Sleep(time.Minute)
		if l.count("acknowledged") != 0 || l.count("extended") < 19 {
			t.Errorf("in a minute in which no result could be stored the lease was %v", l.calls)
		}
		w.publisher.refuse(nil)
		time.Sleep(2 * time.Second)
		if l.count("acknowledged") != 1 || len(w.publisher.results) != 1 {
			t.Errorf("after that the lease was %v, %d results were stored", l.calls, len(w.publisher.results))
		}
		w.stop()
	})
}

// The lease of a search that advances is extended. The lease of a stalled search lapses, and
// so does that of the task that waits behind it.
func TestLeaseFollowsTheSearch(t *testing.T) {
	for name, advances := range map[string]bool{"advances": true, "stalls": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, 1, func(ctx context.Context, pulse *atomic.Uint64) (uint64, error) {
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

// A worker that is stopped releases at once what it has not begun, finishes the searches
// that end within the grace, and releases the rest.
func TestStop(t *testing.T) {
	for _, test := range []struct {
		name   string
		search time.Duration
		want   string
		took   time.Duration
	}{
		{"short search is finished", grace / 2, "acknowledged", grace / 2},
		{"long search is released", time.Hour, "released", grace},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, 1, lasting(test.search))
				searched, waiting := w.queue.lend(task(1)), w.queue.lend(task(2))
				synctest.Wait()
				stopped := time.Now()
				w.stop()
				if got := time.Since(stopped) - test.took; got < 0 || got > 10*time.Millisecond {
					t.Errorf("took %v more than %v to stop", got, test.took)
				}
				if searched.count(test.want) != 1 || len(searched.calls) != 1 {
					t.Errorf("the searched task was %v, want %s", searched.calls, test.want)
				}
				if waiting.count("released") != 1 || !waiting.at.Equal(stopped) {
					t.Errorf("the waiting task was %v, want released at once", waiting.calls)
				}
			})
		})
	}
}

// A worker that stops while results can't be stored releases its tasks.
func TestStopWithUnstoredResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 1, counting(5))
		w.publisher.refuse(errors.New("no responders"))
		l := w.queue.lend(task(1))
		time.Sleep(time.Second)
		w.stop()
		if l.count("released") != 1 || l.count("acknowledged") != 0 {
			t.Errorf("the lease was %v, want released", l.calls)
		}
	})
}

// Each thread counts a task, and one more task is fetched ahead.
func TestThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var searching atomic.Int32
		w := start(t, 3, func(ctx context.Context, _ *atomic.Uint64) (uint64, error) {
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

// Several workers with a real server count each task as the oracle does.
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
	ctx, stop := context.WithTimeout(t.Context(), testkit.Stall)
	defer stop()
	generic, err := kernel.Choose("generic")
	if err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	for range 3 {
		w := worker.New(worker.Config{
			Name: worker.NewName(), Kernel: generic, Threads: 2, Lease: bus.DefaultLease, Log: zerolog.Nop(),
		}, b.Queue(), b.Results(), b.Telemetry())
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
