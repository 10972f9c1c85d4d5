package count_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/testkit"
)

var symmetries = []queens.Symmetry{queens.None, queens.Mirror, queens.Full}

// Every kernel of this machine finds the published total, with each of the three symmetries.
func TestTotals(t *testing.T) {
	last := 12
	if testkit.Full() {
		last = 15
	}
	for _, k := range kernel.Available() {
		for n := 1; n <= last; n++ {
			known, _ := queens.KnownTotal(n)
			for _, s := range symmetries {
				got, err := count.Run(t.Context(),
					count.Job{Method: queens.Prefixes, N: n, Symmetry: s, Kernel: k, Threads: 2})
				if err != nil || got.Cmp(known) != 0 {
					t.Errorf("%s, n=%d %s: %v (error %v), want %v", k.Name, n, s, got, err, known)
				}
			}
		}
	}
}

// The total does not depend on the number of threads, even if there are more threads than
// tasks.
func TestThreads(t *testing.T) {
	const n = 13
	known, _ := queens.KnownTotal(n)
	for _, s := range symmetries {
		for _, threads := range []int{1, 3, 200} {
			job := count.Job{Method: queens.Prefixes, N: n, Symmetry: s, Kernel: kernel.Available()[0],
				Threads: threads}
			if got, err := count.Run(t.Context(), job); err != nil || got.Cmp(known) != 0 {
				t.Errorf("%s, %d threads: %v (error %v), want %v", s, threads, got, err, known)
			}
		}
	}
}

// Each thread has its own counter, and every prefix is counted once. The kernel of this test counts
// one solution for each prefix, so the total is the weight times the number of prefixes.
func TestEveryPrefixIsCountedOnce(t *testing.T) {
	const n = 17
	prefixes := prefixes(t, n, queens.Mirror)
	for _, threads := range []int{1, 4, 50} {
		countPrefixes := func(_ context.Context, _ *queens.Board, prefixes []queens.Prefix,
			_ *atomic.Uint64) (uint64, error) {
			return uint64(len(prefixes)), nil
		}
		fake := kerneltest.Fake{Count: countPrefixes}
		job := count.Job{Method: queens.Prefixes, N: n, Symmetry: queens.Mirror, Threads: threads,
			Kernel: fake.Kernel(t)}
		got, err := count.Run(t.Context(), job)
		if err != nil || got.Int64() != 2*prefixes {
			t.Errorf("%d threads: total %v (error %v), want 2 for each of %d prefixes", threads, got, err,
				prefixes)
		}
		if made := fake.Made.Load(); made != int64(threads) {
			t.Errorf("%d threads have %d counters", threads, made)
		}
	}
}

// prefixes returns the number of prefixes in all tasks of a count.
func prefixes(t *testing.T, n int, s queens.Symmetry) int64 {
	t.Helper()
	classes, err := symmetry.Classes(n, s)
	if err != nil {
		t.Fatal(err)
	}
	m, index, err := split.Plan(t.Context(), n, s, classes, 0)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, task := range index.All() {
		sum += int64(len(task.Prefixes))
	}
	if m.Tasks < 100 || sum <= int64(m.Tasks) {
		t.Fatalf("%d tasks with %d prefixes: too few to tell", m.Tasks, sum)
	}
	return sum
}

// A canceled count returns at once, with the cause and no total. The whole count would take many
// minutes.
func TestCanceled(t *testing.T) {
	errStop := errors.New("stopped by the test")
	for _, threads := range []int{1, 4} {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d threads, before the start %v", threads, before), func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				started := make(chan struct{}, 1000)
				k := kernel.Kernel{New: func() (kernel.Counter, error) {
					started <- struct{}{}
					return kernel.Available()[0].New()
				}}
				if before {
					cancel(errStop)
				} else {
					go func() {
						<-started
						time.Sleep(5 * time.Millisecond)
						cancel(errStop)
					}()
				}
				start := time.Now()
				got, err := count.Run(ctx,
					count.Job{Method: queens.Prefixes, N: 20, Symmetry: queens.Mirror, Kernel: k,
						Threads: threads})
				if !errors.Is(err, errStop) || got != nil {
					t.Errorf("total %v (error %v), want the cause of the end", got, err)
				}
				if took := time.Since(start); took > testkit.Stall {
					t.Errorf("stopped after %v", took)
				}
			})
		}
	}
}

// A count that is canceled between tasks returns no total, although each search that began was
// completed.
func TestCanceledBetweenSearches(t *testing.T) {
	errStop := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	job := count.Job{Method: queens.Prefixes, N: 17, Symmetry: queens.Mirror, Threads: 2,
		Kernel: fakeKernel(t, func(context.Context) (uint64, error) {
			cancel(errStop)
			return 1, nil
		})}
	if got, err := count.Run(ctx, job); !errors.Is(err, errStop) || got != nil {
		t.Errorf("total %v (error %v), want the cause of the end", got, err)
	}
}

// If a search fails, the count returns the error of the search and no total. It stops the searches
// of the other threads and waits for them.
func TestFailedSearch(t *testing.T) {
	errBroken := errors.New("broken")
	var calls, running atomic.Int64
	job := count.Job{Method: queens.Prefixes, N: 17, Symmetry: queens.Mirror, Threads: 4,
		Kernel: fakeKernel(t, func(ctx context.Context) (uint64, error) {
			running.Add(1)
			defer running.Add(-1)
			if calls.Add(1) == 3 {
				return 0, errBroken
			}
			<-ctx.Done()
			return 0, context.Cause(ctx)
		})}
	got, err := count.Run(t.Context(), job)
	if !errors.Is(err, errBroken) || got != nil {
		t.Errorf("total %v (error %v), want the error of the search", got, err)
	}
	if running.Load() != 0 {
		t.Errorf("%d searches continue", running.Load())
	}
}

// For an invalid job, Run returns an error that says what is wrong, before any search.
func TestInvalidJobs(t *testing.T) {
	for _, c := range []struct {
		n       int
		s       queens.Symmetry
		threads int
		says    string
	}{
		{8, queens.Mirror, 0, "thread"},
		{8, queens.Mirror, -1, "thread"},
		{0, queens.Mirror, 1, "from 1 to 32"},
		{-8, queens.None, 1, "from 1 to 32"},
		{33, queens.None, 1, "from 1 to 32"},
		{8, "", 1, "symmetry"},
		{8, "Mirror", 1, "symmetry"},
	} {
		job := count.Job{Method: queens.Prefixes, N: c.n, Symmetry: c.s, Threads: c.threads,
			Kernel: kernel.Kernel{New: func() (kernel.Counter, error) {
				t.Errorf("%+v: a search begins", c)
				return nil, errors.New("no counter")
			}}}
		if got, err := count.Run(t.Context(), job); got != nil || err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: Run gives %v (error %v)", c, got, err)
		}
	}
}
