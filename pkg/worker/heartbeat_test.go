package worker_test

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
	"nqueens/pkg/worker"
)

// A worker publishes a heartbeat every few seconds, and a last one when it leaves.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 2, counting(0))
		time.Sleep(10 * time.Second)
		w.stop()
		beats := w.publisher.beats
		if len(beats) < 4 || len(beats) > 6 {
			t.Errorf("%d heartbeats in 10 s", len(beats))
		}
		for i, beat := range beats {
			if err := beat.Validate(); err != nil {
				t.Error(err)
			}
			if beat.Leaving != (i == len(beats)-1) || beat.Threads != 2 || len(beat.Held) > 0 {
				t.Errorf("heartbeat %d of %d is %+v", i, len(beats), beat)
			}
		}
	})
}

// Heartbeats name the tasks being searched and for how long, the longest first, but not
// those that wait for a thread or are counted. The last heartbeat names none.
func TestHeartbeatsNameTheSearches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 2, lasting(6500*time.Millisecond))
		w.publisher.refuse(errors.New("maximum bytes exceeded"))
		synctest.Wait()
		w.queue.lend(attempt(1, task(1)))
		time.Sleep(2 * time.Second)
		w.queue.lend(attempt(1, task(2)))
		w.queue.lend(attempt(1, task(3)))
		time.Sleep(8 * time.Second)
		w.stop()
		held := func(id uint64, since time.Duration) run.ActiveTask {
			return run.ActiveTask{Run: "r", Task: id, Elapsed: since}
		}
		want := [][]run.ActiveTask{
			nil, // at the start
			{held(1, 3*time.Second), held(2, time.Second)}, // 3 waits
			{held(1, 6*time.Second), held(2, 4*time.Second)},
			{held(3, 2500*time.Millisecond)}, // 1 and 2 are counted, and still held
			nil,                              // the worker leaves
		}
		var got [][]run.ActiveTask
		for _, beat := range w.publisher.beats {
			got = append(got, beat.Held)
			if err := beat.Validate(); err != nil {
				t.Error(err)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the heartbeats name %v, want %v", got, want)
		}
	})
}

// Before the search of a task that was delivered or published before, a heartbeat names the
// task. The first delivery of a task waits for none.
func TestHeartbeatBeforeTheSearchOfARedeliveredTask(t *testing.T) {
	const threads = 3
	for _, test := range []struct {
		name    string
		again   bool
		attempt uint32
		named   bool
	}{
		{"redelivered", true, 1, true},
		{"republished", false, 2, true},
		{"both", true, 2, true},
		{"neither", false, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				counts := make(chan int, threads) // of tasks in the last heartbeat when a search begins
				var w *fixture
				w = start(t, threads, func(ctx context.Context, _ *atomic.Uint64) (uint64, error) {
					held, _ := w.publisher.last()
					counts <- len(held)
					<-ctx.Done()
					return 0, context.Cause(ctx)
				})
				time.Sleep(time.Second)
				_, before := w.publisher.last()
				for id := range uint64(threads) {
					w.queue.lendWith(&fakeLease{again: test.again}, attempt(test.attempt, task(id)))
				}
				time.Sleep(time.Second)
				_, after := w.publisher.last()
				// Searches that begin while a heartbeat is being published share the next.
				if extra := after - before; extra > 2 || test.named != (extra > 0) {
					t.Errorf("%d heartbeats more as %d searches begin", extra, threads)
				}
				// All searches continue, so the first to begin finds at least one task named,
				// the second two.
				for i, got := range slices.Sorted(received(counts, threads)) {
					if got < i+1 && test.named {
						t.Errorf("search %d begins with %d tasks named", i+1, got)
					}
				}
				w.stop()
			})
		})
	}
}

// With a real server, the heartbeat of a worker that searches a released task names it.
func TestHeartbeatNamesAReleasedTask(t *testing.T) {
	server := bustest.Server(t)
	b := bustest.Connect(t, server)
	if err := b.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), testkit.Stall)
	defer stop()
	want := attempt(1, task(7))
	if _, err := b.Tasks().Publish(ctx, &want); err != nil {
		t.Fatal(err)
	}
	_, lease, err := b.Queue().Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	w := worker.New(worker.Config{
		Name: "w", Version: "v", Kernel: fakeKernel(lasting(time.Hour)), Threads: 1, Lease: bus.DefaultLease, Log: zerolog.Nop(),
	}, b.Queue(), b.Results(), b.Telemetry())
	var group sync.WaitGroup
	group.Go(func() { w.Run(ctx) })
	var heard run.Heartbeat
	if err := b.Telemetry().WatchHeartbeats(ctx, func(h run.Heartbeat) {
		if len(h.Held) > 0 && heard.Worker == "" {
			heard = h
			stop()
		}
	}); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	bustest.NoGoroutines(t, "nqueens/pkg/worker.")
	if len(heard.Held) != 1 || heard.Worker != "w" || heard.Held[0].Run != want.Run || heard.Held[0].Task != want.ID {
		t.Errorf("heard %+v, want worker w with task %d of run %q", heard, want.ID, want.Run)
	}
}

func received(from <-chan int, n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for range n {
			if !yield(<-from) {
				return
			}
		}
	}
}
