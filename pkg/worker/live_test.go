package worker_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/worker"
)

// beating returns a search that never ends, and advances twice a second while advances is
// true.
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

// wantLive calls Live every second for so long. The error must contain answer, or be nil if
// that is empty.
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

// A worker that has not started is live, however long that takes.
func TestLiveBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := worker.New(worker.Config{
			Name: "w", Identity: identitytest.Of("w"), Kernel: fakeKernel(t, counting(0)), Threads: 1, Lease: leaseTime, Log: zerolog.Nop(),
		}, newFakeQueue(), new(fakePublisher), new(fakeTelemetry))
		f := &fixture{live: w.Live}
		f.wantLive(t, "before Run", time.Hour, "")
	})
}

// A worker is live while it waits for chunks and while its searches advance, however long
// they are. It is not live while one of them stalls, even if others advance.
func TestLiveFollowsTheSearches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var one, other atomic.Bool
		one.Store(true)
		other.Store(true)
		var begun atomic.Int32
		w := start(t, 2, func(ctx context.Context, pulse *atomic.Uint64) (uint64, error) {
			if begun.Add(1) == 1 {
				return beating(&one)(ctx, pulse)
			}
			return beating(&other)(ctx, pulse)
		})
		w.wantLive(t, "no chunk", time.Minute, "")
		w.queue.lend(chunk(1, 1))
		w.wantLive(t, "one search advances", time.Hour, "")
		w.queue.lend(chunk(2, 1))
		w.wantLive(t, "both advance", time.Minute, "")

		one.Store(false)
		time.Sleep(2 * leaseTime / 3) // two renewals
		w.wantLive(t, "one stalls", time.Minute, "1 searches do not advance")
		other.Store(false)
		time.Sleep(2 * leaseTime / 3)
		w.wantLive(t, "both stall", time.Minute, "2 searches do not advance")

		one.Store(true)
		other.Store(true)
		time.Sleep(leaseTime / 3)
		w.wantLive(t, "both advance again", time.Minute, "")
		w.stop()
	})
}

// A worker is not live if for the time of a lease it could not extend leases, because a call
// does not return. When the call returns, the worker is live again.
func TestLiveFollowsTheLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var advances atomic.Bool
		advances.Store(true)
		w := start(t, 1, beating(&advances))
		stuck := make(chan struct{})
		w.queue.lendWith(&fakeLease{extended: func() { <-stuck }}, chunk(1, 1))
		w.wantLive(t, "before the lease is over", leaseTime, "")
		time.Sleep(leaseTime / 3)
		w.wantLive(t, "after it", time.Minute, "not extended")
		close(stuck)
		time.Sleep(leaseTime / 3)
		w.wantLive(t, "when the call has returned", time.Minute, "")
		w.stop()
	})
}
