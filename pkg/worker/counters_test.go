package worker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A worker uses one counter a thread, and closes all when it stops, whether its searches end in time or not.
func TestCountersAreClosed(t *testing.T) {
	const threads = 3
	for name, search := range map[string]fakeSearch{
		"short searches": counting(5),
		"long searches":  lasting(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := newFake(search)
				w := startWith(t, threads, fake.Kernel(t))
				for id := range uint64(10) {
					w.queue.lend(chunk(id+1, 1))
				}
				time.Sleep(time.Second)
				if open := fake.Open.Load(); open != threads {
					t.Errorf("%d counters are open while the worker runs, want %d", open, threads)
				}
				w.stop()
				if made, open := fake.Made.Load(), fake.Open.Load(); made != threads || open != 0 {
					t.Errorf("%d counters are made and %d not closed, want %d and 0", made, open, threads)
				}
			})
		})
	}
}

// A worker ends with an error that names the kernel when a search on one of its threads fails, and its chunks
// go to others at once.
func TestKernelFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("broken")
		w := start(t, 2, func(context.Context, *atomic.Uint64) (uint64, error) { return 0, reason })
		l := w.queue.lend(chunk(1, 3))
		if err := w.ended(); !errors.Is(err, reason) || !strings.Contains(err.Error(), "kernel fake") {
			t.Errorf("error %v, want kernel fake and %v", err, reason)
		}
		l.want(t, "of a kernel that failed", "released")
	})
}

// A worker ends with an error that names the kernel when one of its threads lacks a counter. It
// releases what it has not begun, and the other threads may finish their searches.
func TestWorkerWithoutACounter(t *testing.T) {
	reason := errors.New("the device is busy")
	for _, threads := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			fake := newFake(lasting(grace / 2))
			var news atomic.Int64
			fake.New = func() error {
				if news.Add(1) < int64(threads) {
					return nil
				}
				time.Sleep(grace / 4) // so that another thread has begun to search
				return reason
			}
			w := startWith(t, threads, fake.Kernel(t))
			var calls []string
			leases := []*fakeLease{w.queue.lend(chunk(1, 1)), w.queue.lend(chunk(2, 1))}
			if err := w.ended(); !errors.Is(err, reason) || !strings.Contains(err.Error(), "kernel fake") {
				t.Errorf("%d threads: error %v, want kernel fake and %v", threads, err, reason)
			}
			for _, l := range leases {
				calls = append(calls, l.all()...)
			}
			// Every chunk that the worker took is counted or released, and nothing else.
			if taken := int(w.queue.taken.Load()); len(calls) != taken || threads == 2 && !slices.Contains(calls, "acknowledged") {
				t.Errorf("%d threads took %d chunks: the leases were %v", threads, taken, calls)
			}
			if open := fake.Open.Load(); open != 0 {
				t.Errorf("%d threads: %d counters are not closed", threads, open)
			}
			if announcements := w.telemetry.heartbeats; len(announcements) == 0 || !announcements[len(announcements)-1].Leaving {
				t.Errorf("%d threads: the heartbeats are %+v, want a last one that says so", threads, announcements)
			}
		})
	}
}

// A worker that can't close a counter says so when it stops.
func TestCloseFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake(counting(5))
		fake.CloseError = errors.New("can't free the device")
		w := startWith(t, 2, fake.Kernel(t))
		l := w.queue.lend(chunk(1, 1))
		time.Sleep(time.Second)
		w.cancel()
		if err := w.ended(); !errors.Is(err, fake.CloseError) || !strings.Contains(err.Error(), "kernel fake") {
			t.Errorf("error %v, want kernel fake and %v", err, fake.CloseError)
		}
		if l.count("acknowledged") != 1 {
			t.Errorf("the lease was %v", l.all())
		}
	})
}
