package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// A recount goes on after a difference: it counts the whole sample again, reports every difference as it is
// found, and in the end all of them.
func TestRecountFindsEveryDifference(t *testing.T) {
	m, results := run7(t)
	want := make([]run.Difference, 0, 3)
	for _, id := range []uint64{0, 2, 3} {
		r := &results[id]
		r.Count += 5
		r.Worker = fmt.Sprintf("liar-%d", id)
		want = append(want, run.Difference{
			Task: id, Count: r.Count, Worker: r.Worker, Kernel: "k", Recount: r.Count - 5, RecountKernel: "generic",
		})
	}
	l := newLedger(t, m, results)
	for _, threads := range []int{1, 3} {
		var told []run.Difference
		n, err := Recount(t.Context(), l, Sample{
			Share: 1, Kernel: new(reference(t)), Threads: threads,
			OnDifference: func(d run.Difference) { told = append(told, d) },
		})
		for i := range n.Differences {
			if n.Differences[i].Key == "" {
				t.Errorf("the difference of task %d has no key", n.Differences[i].Task)
			}
			n.Differences[i].Key = ""
		}
		if n.Recounted != m.Tasks || n.Differing != 3 || !slices.Equal(n.Differences, want) || n.Share < 0.999 || len(told) != 3 {
			t.Errorf("%d threads: recounted %+v, told of %v, want the differences %+v", threads, n, told, want)
		}
		if !errors.Is(err, run.ErrContradiction) {
			t.Errorf("%d threads: error %v, want %v", threads, err, run.ErrContradiction)
		}
		for _, d := range want {
			if err == nil || !strings.Contains(err.Error(), d.String()) {
				t.Errorf("%d threads: the error does not say %q: %v", threads, d.String(), err)
			}
		}
	}
}

// Of many differences a recount keeps a bounded number, and its error names ten.
func TestDifferencesAreBounded(t *testing.T) {
	classes, err := symmetry.Classes(8, queens.None)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 8, queens.None, classes, 3)
	if err != nil {
		t.Fatal(err)
	}
	results := countTasks(t, &m)
	for i := range results {
		results[i].Count++
	}
	n, err := Recount(t.Context(), newLedger(t, m, results), Sample{Share: 1, Kernel: new(reference(t)), Threads: 2})
	if n.Differing != m.Tasks || len(n.Differences) != run.MaxSurveyed {
		t.Errorf("%d differences of %d tasks, %d are kept", n.Differing, m.Tasks, len(n.Differences))
	}
	if !slices.IsSortedFunc(n.Differences, func(a, b run.Difference) int { return int(a.Task) - int(b.Task) }) {
		t.Errorf("the differences are not in order: %+v", n.Differences)
	}
	more := fmt.Sprintf("and %d more", m.Tasks-10)
	if err == nil || strings.Count(err.Error(), "was counted") != 10 || !strings.HasSuffix(err.Error(), more) {
		t.Errorf("error %v, want one that names 10 tasks %s", err, more)
	}
}

// If its context ends, its time is over or the kernel fails, a recount still returns the differences that it
// has found, and an error that says so.
func TestDifferencesSurviveAnEnd(t *testing.T) {
	stopped, broken := errors.New("stopped"), errors.New("broken")
	m, results := run7(t)
	for i := range results {
		results[i].Count++
	}
	for name, c := range map[string]struct {
		limit  time.Duration
		stop   time.Duration // until ctx ends
		fails  error         // of the kernel, from its second task on
		want   error
		counts uint64
	}{
		"stopped":        {stop: 1500 * time.Millisecond, counts: 1},
		"the time ends":  {limit: 1500 * time.Millisecond, counts: 1},
		"a kernel fails": {fails: broken, want: broken, counts: 1},
		"none of them":   {counts: m.Tasks},
	} {
		l := newLedger(t, m, results)
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			if c.stop > 0 {
				defer time.AfterFunc(c.stop, func() { stop(stopped) }).Stop()
			}
			k := slowKernel(t, c.fails)
			n, err := Recount(ctx, l, Sample{Share: 1, Limit: c.limit, Kernel: &k, Threads: 1})
			if n.Recounted != c.counts || n.Differing != c.counts || uint64(len(n.Differences)) != c.counts {
				t.Errorf("%s: recounted %+v, want %d differences", name, n, c.counts)
			}
			if !errors.Is(err, run.ErrContradiction) || c.want != nil && !errors.Is(err, c.want) || errors.Is(err, stopped) {
				t.Errorf("%s: error %v, want %v and %v", name, err, run.ErrContradiction, c.want)
			}
		})
	}
}

// slowKernel returns the reference kernel, which takes a second for each task. If fails is not nil, it is the
// error of all counts but the first.
func slowKernel(t *testing.T, fails error) kernel.Kernel {
	k := reference(t)
	counter := kerneltest.NewCounter(t, k)
	calls := 0
	fake := &kerneltest.Fake{Count: func(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
		if calls++; calls > 1 && fails != nil {
			return 0, fails
		}
		select {
		case <-time.After(time.Second):
			return counter.Count(ctx, b, prefixes, pulse)
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}}
	return fake.Kernel(t)
}
