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
	"nqueens/pkg/worker"
)

// A worker says that it lives every few seconds, and that it leaves.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, 2, counting(0))
		time.Sleep(10 * time.Second)
		w.stop()
		beats := w.outbox.beats
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

// Heartbeats name the tasks that are being searched and for how long, the longest
// first: not one that waits for a thread, nor one that is counted, nor any at the end.
func TestHeartbeatsNameTheSearches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, 2, lasting(6500*time.Millisecond))
		w.outbox.refuse(errors.New("maximum bytes exceeded"))
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
			{held(3, 2500*time.Millisecond)}, // 1 and 2 are counted, and held still
			nil,                              // the worker leaves
		}
		var got [][]run.ActiveTask
		for _, beat := range w.outbox.beats {
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

// When the search begins of a task that was given out before, by the queue or by the
// coordinator, a heartbeat has been published that names it; the first to have a task
// waits for none.
func TestSearchesAreAnnounced(t *testing.T) {
	const threads = 3
	for _, test := range []struct {
		name      string
		again     bool
		attempt   uint32
		announced bool
	}{
		{"lent again", true, 1, true},
		{"published again", false, 2, true},
		{"both", true, 2, true},
		{"neither", false, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				named := make(chan int, threads) // tasks in the last heartbeat when a search begins
				var w *fixture
				w = begin(t, threads, func(ctx context.Context, _ *atomic.Uint64) (uint64, error) {
					held, _ := w.outbox.last()
					named <- len(held)
					<-ctx.Done()
					return 0, context.Cause(ctx)
				})
				time.Sleep(time.Second)
				_, before := w.outbox.last()
				for id := range uint64(threads) {
					w.queue.lendUnder(&fakeLease{again: test.again}, attempt(test.attempt, task(id)))
				}
				time.Sleep(time.Second)
				_, after := w.outbox.last()
				// Those that begin while a heartbeat is on its way share the next.
				if extra := after - before; extra > 2 || test.announced != (extra > 0) {
					t.Errorf("%d heartbeats more as %d searches begin", extra, threads)
				}
				// All searches go on, so the first to begin finds one task named at
				// least, the second two.
				for i, got := range slices.Sorted(received(named, threads)) {
					if got < i+1 && test.announced {
						t.Errorf("search %d begins with %d tasks named", i+1, got)
					}
				}
				w.stop()
			})
		})
	}
}

// Through the real server: a task that another has handed back is named by the worker
// that searches it.
func TestHeldIsHeard(t *testing.T) {
	server := bustest.Server(t)
	b := bustest.Connect(t, server)
	if err := b.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
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
	w, err := worker.New(worker.Config{
		Name: "w", Version: "v", Kernel: fakeKernel(lasting(time.Hour)), Threads: 1, Lease: bus.DefaultLease, Log: zerolog.Nop(),
	}, b.Queue(), b.Results(), b.Telemetry())
	if err != nil {
		t.Fatal(err)
	}
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
