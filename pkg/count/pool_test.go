package count_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/count"
	"nqueens/pkg/queens"
)

// tasks yields n tasks with ids from 10.
func tasks(n int) func(yield func(queens.Task) bool) {
	return func(yield func(queens.Task) bool) {
		for i := range n {
			if !yield(queens.Task{ID: uint64(10 + i)}) {
				return
			}
		}
	}
}

// Each counts every task once, on all its threads at the same time, and calls done from
// one goroutine.
func TestEachCountsEveryTaskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, threads = 30, 3
		k := fakeKernel(func(context.Context) (uint64, error) { time.Sleep(time.Second); return 2, nil })
		var seen []int
		var calls atomic.Int32
		start := time.Now()
		err := count.Each(t.Context(), k, threads, tasks(n), func(c count.Counted) error {
			if calls.Add(1) > 1 {
				t.Error("done is called twice at once")
			}
			defer calls.Add(-1)
			runtime.Gosched()
			if c.Task.ID != uint64(10+c.Index) || c.Count != 2 || c.Elapsed != time.Second {
				t.Errorf("counted %+v of task %d", c, c.Task.ID)
			}
			seen = append(seen, c.Index)
			return nil
		})
		slices.Sort(seen)
		if err != nil || len(seen) != n || len(slices.Compact(seen)) != n {
			t.Errorf("error %v, counted %v of %d tasks", err, seen, n)
		}
		if took := time.Since(start); took != n/threads*time.Second {
			t.Errorf("%d tasks of 1 s took %v on %d threads", n, took, threads)
		}
	})
}

// Each ends with the first error of done, and with the cause of ctx's end.
func TestEachEndsWithAnError(t *testing.T) {
	reason := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := count.Each(ctx, fakeKernel(instantly), 2, tasks(1_000_000), func(count.Counted) error { return reason }); !errors.Is(err, reason) {
		t.Errorf("done fails: error %v, want %v", err, reason)
	}
	if err := count.Each(ctx, fakeKernel(instantly), 2, tasks(1_000_000), func(count.Counted) error { cancel(reason); return nil }); !errors.Is(err, reason) {
		t.Errorf("ctx ends: error %v, want %v", err, reason)
	}
	if err := count.Each(ctx, fakeKernel(instantly), 2, tasks(0), nil); !errors.Is(err, reason) {
		t.Errorf("no tasks, and ctx has ended: error %v, want %v", err, reason)
	}
}
