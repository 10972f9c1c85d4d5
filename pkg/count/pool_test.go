package count_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/count"
	"nqueens/pkg/queens"
)

// tasks yields n empty tasks, numbered from 0.
func tasks(n int) func(yield func(int, queens.Task) bool) {
	return func(yield func(int, queens.Task) bool) {
		for i := range n {
			if !yield(i, queens.Task{}) {
				return
			}
		}
	}
}

// count.Each counts every task once, and keeps all its threads busy. It makes one call of done at a
// time.
func TestEachCountsEveryTaskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, threads = 30, 3
		k := fakeKernel(t, func(context.Context) (uint64, error) {
			time.Sleep(time.Second)
			return 2, nil
		})
		var seen []int
		var calls atomic.Int32
		start := time.Now()
		err := count.Each(t.Context(), count.Kernels{Prefixes: k}, threads, new(atomic.Uint64), tasks(n),
			func(index int, c queens.TaskCount) error {
				if calls.Add(1) > 1 {
					t.Error("done is called twice at once")
				}
				defer calls.Add(-1)
				runtime.Gosched()
				if c.Count != 2 || c.Elapsed != time.Second {
					t.Errorf("counted %+v of task %d", c, index)
				}
				seen = append(seen, index)
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

// count.Each ends with the first error of done, or with the cause of ctx.
func TestEachEndsWithAnError(t *testing.T) {
	reason := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	each := func(number int, done func(int, queens.TaskCount) error) error {
		return count.Each(ctx, count.Kernels{Prefixes: fakeKernel(t, instantly)}, 2, new(atomic.Uint64),
			tasks(number), done)
	}
	if err := each(1_000_000, func(int, queens.TaskCount) error {
		return reason
	}); !errors.Is(err, reason) {
		t.Errorf("done fails: error %v, want %v", err, reason)
	}
	if err := each(1_000_000, func(int, queens.TaskCount) error {
		cancel(reason)
		return nil
	}); !errors.Is(err, reason) {
		t.Errorf("ctx ends: error %v, want %v", err, reason)
	}
	if err := each(0, nil); !errors.Is(err, reason) {
		t.Errorf("no tasks, and ctx has ended: error %v, want %v", err, reason)
	}
}

// count.Each names the kernel in each count.
func TestEachNamesTheKernel(t *testing.T) {
	err := count.Each(t.Context(), count.Kernels{Prefixes: fakeKernel(t, instantly)}, 2,
		new(atomic.Uint64), tasks(10), func(index int, c queens.TaskCount) error {
			if c.Kernel != "fake" {
				t.Errorf("task %d was counted by %q, want fake", index, c.Kernel)
			}
			return nil
		})
	if err != nil {
		t.Error(err)
	}
}

// count.Each makes one counter per thread. However it ends, it closes all counters before it
// returns.
func TestEachClosesItsCounters(t *testing.T) {
	const threads = 3
	reason := errors.New("stopped by the test")
	for name, test := range map[string]struct {
		// nil for a search that succeeds
		search func(ctx context.Context, cancel context.CancelCauseFunc) (uint64, error)
		done   error
		want   error
	}{
		"all is counted": {},
		"done fails":     {done: reason, want: reason},
		"the search fails": {search: func(context.Context, context.CancelCauseFunc) (uint64, error) {
			return 0, reason
		}, want: reason},
		"ctx ends": {search: func(ctx context.Context, cancel context.CancelCauseFunc) (uint64, error) {
			cancel(reason)
			<-ctx.Done()
			return 0, context.Cause(ctx)
		}, want: reason},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			fake := newFake(func(ctx context.Context) (uint64, error) {
				if test.search == nil {
					return 1, nil
				}
				return test.search(ctx, cancel)
			})
			done := func(int, queens.TaskCount) error { return test.done }
			err := count.Each(ctx, count.Kernels{Prefixes: fake.Kernel(t)}, threads, new(atomic.Uint64),
				tasks(100), done)
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if made, open := fake.Made.Load(), fake.Open.Load(); made != threads || open != 0 {
				t.Errorf("%d counters are made and %d not closed, want %d and 0", made, open, threads)
			}
		})
	}
}

// count.Each returns the errors of New and of Close, even if New fails for only one thread. The
// errors name the kernel.
func TestEachWithoutACounter(t *testing.T) {
	reason := errors.New("the device is busy")
	for lacking := range int64(3) { // the thread without a counter
		fake := newFake(func(ctx context.Context) (uint64, error) {
			<-ctx.Done()
			return 0, context.Cause(ctx)
		})
		var news atomic.Int64
		fake.New = func() error {
			if news.Add(1) == lacking+1 {
				return reason
			}
			return nil
		}
		err := count.Each(t.Context(), count.Kernels{Prefixes: fake.Kernel(t)}, 3, new(atomic.Uint64),
			tasks(1_000_000), nil)
		if !errors.Is(err, reason) || !strings.Contains(err.Error(), "kernel fake") {
			t.Errorf("no counter %d: error %v, want kernel fake and %v", lacking, err, reason)
		}
		if open := fake.Open.Load(); open != 0 {
			t.Errorf("no counter %d: %d counters are not closed", lacking, open)
		}
	}

	fake := newFake(instantly)
	fake.CloseError = reason
	err := count.Each(t.Context(), count.Kernels{Prefixes: fake.Kernel(t)}, 3, new(atomic.Uint64),
		tasks(10), func(int, queens.TaskCount) error {
			return nil
		})
	if !errors.Is(err, reason) || !strings.Contains(err.Error(), "kernel fake") {
		t.Errorf("Close fails: error %v, want kernel fake and %v", err, reason)
	}
}
