package worker_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/worker"
)

// beating returns a search that never ends, and advances twice a second while it is
// told to.
func beating(advances *atomic.Bool) fakeSearch {
	return func(ctx context.Context, pulse *atomic.Uint64) (uint64, error) {
		for ctx.Err() == nil {
			if advances.Load() {
				pulse.Add(1)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second / 2):
			}
		}
		return 0, context.Cause(ctx)
	}
}

// wantLive asks the worker every second for so long whether it lives; an answer says
// why not, and none says that it does.
func (f *fixture) wantLive(t *testing.T, when string, long time.Duration, answer string) {
	t.Helper()
	for second := range long / time.Second {
		time.Sleep(time.Second)
		err := f.live()
		if well := err == nil; well != (answer == "") || !well && !strings.Contains(err.Error(), answer) {
			t.Fatalf("%s, second %d: %v, want %q", when, second+1, err, answer)
		}
	}
}

// A worker that has not begun lives, however long that takes.
func TestLiveBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := worker.New(worker.Config{
			Name: "w", Kernel: fakeKernel(counting(0)), Threads: 1, Lease: leaseTime, Log: zerolog.Nop(),
		}, &fakeQueue{}, new(fakeOutbox), new(fakeOutbox))
		if err != nil {
			t.Fatal(err)
		}
		f := &fixture{live: w.Live}
		f.wantLive(t, "before Run", time.Hour, "")
	})
}

// A worker lives while it waits for tasks and while its searches advance, however long
// they are; not while one of them stands still, even where others advance; and again
// when it goes on.
func TestLiveFollowsTheSearches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var one, other atomic.Bool
		one.Store(true)
		other.Store(true)
		var begun atomic.Int32
		w := begin(t, 2, func(ctx context.Context, pulse *atomic.Uint64) (uint64, error) {
			if begun.Add(1) == 1 {
				return beating(&one)(ctx, pulse)
			}
			return beating(&other)(ctx, pulse)
		})
		w.wantLive(t, "no task", time.Minute, "")
		w.queue.lend(task(1))
		w.wantLive(t, "one search advances", time.Hour, "")
		w.queue.lend(task(2))
		w.wantLive(t, "both advance", time.Minute, "")

		one.Store(false)
		time.Sleep(2 * leaseTime / 3) // looked at twice
		w.wantLive(t, "one stands still", time.Minute, "1 searches stand still")
		other.Store(false)
		time.Sleep(2 * leaseTime / 3)
		w.wantLive(t, "both stand still", time.Minute, "2 searches stand still")

		one.Store(true)
		other.Store(true)
		time.Sleep(leaseTime / 3)
		w.wantLive(t, "both go on", time.Minute, "")
		w.stop()
	})
}

// A worker that can't extend a lease, because the call does not return, does not look
// after the others: when a lease's time has passed it lives no more, and when the call
// returns it does again.
func TestLiveFollowsTheLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var advances atomic.Bool
		advances.Store(true)
		w := begin(t, 1, beating(&advances))
		stuck := make(chan struct{})
		w.queue.lendUnder(&fakeLease{extended: func() { <-stuck }}, task(1))
		w.wantLive(t, "before the lease is over", leaseTime, "")
		time.Sleep(leaseTime / 3)
		w.wantLive(t, "after it", time.Minute, "not looked after")
		close(stuck)
		time.Sleep(leaseTime / 3)
		w.wantLive(t, "when the call has returned", time.Minute, "")
		w.stop()
	})
}
