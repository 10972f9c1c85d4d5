package estimate_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/estimate"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/testkit"
)

func mustRun(t *testing.T, job estimate.Job) estimate.Estimate {
	t.Helper()
	e, err := estimate.Run(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The estimated numbers of tasks and rows equal those of the plan of a count.
func TestTasksAreThoseOfThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{1, 3, 16, 21} {
			m, err := split.Plan(t.Context(), n, queens.Full, mustClasses(t, n), 0)
			if err != nil {
				t.Fatal(err)
			}
			least, most := 0, 0
			for i, plan := range m.Classes {
				if m.TasksOf(i) == 0 {
					continue
				}
				if least == 0 || plan.Depth < least {
					least = plan.Depth
				}
				most = max(most, plan.Depth)
			}
			e := mustRun(t, estimate.Job{N: n, Kernel: simple.kernel(t), Workers: 1, Threads: 1})
			if e.Tasks != m.Tasks || e.Depth.Min != least || e.Depth.Max != most {
				t.Errorf("n=%d: %d tasks of %d to %d rows, the plan has %d of %d to %d", n, e.Tasks, e.Depth.Min, e.Depth.Max, m.Tasks, least, most)
			}
		}
	})
}

// If there are too many tasks to count one by one, their number is right to a few percent.
func TestManyTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	synctest.Test(t, func(t *testing.T) {
		const n = 23
		m, err := split.Plan(t.Context(), n, queens.Full, mustClasses(t, n), 0)
		if err != nil {
			t.Fatal(err)
		}
		e := mustRun(t, estimate.Job{N: n, Kernel: simple.kernel(t), Workers: 1, Threads: 1})
		if off := float64(e.Tasks)/float64(m.Tasks) - 1; math.Abs(off) > 0.03 {
			t.Errorf("%d tasks, the plan has %d", e.Tasks, m.Tasks)
		}
	})
}

// Every estimate is plausible: finite, in order, the time of the command at least that of its
// searches, shorter with more workers, but not below the longest task.
func TestTimes(t *testing.T) {
	if testing.Short() {
		t.Skip("estimates large boards")
	}
	synctest.Test(t, func(t *testing.T) {
		for _, n := range testkit.Sample(t, 1, []int{2, 18, 32}) {
			before := math.Inf(1)
			for _, workers := range []int{1, 4096} {
				e := mustRun(t, estimate.Job{N: n, Kernel: simple.kernel(t), Workers: workers, Threads: min(workers, 4)})
				for _, r := range []estimate.Range{e.Seconds, e.CoreSeconds, {Low: e.Solutions.Low, Mid: e.Solutions.Mean, High: e.Solutions.High}} {
					if !(r.Low >= 0 && r.Low <= r.Mid && r.Mid <= r.High && !math.IsInf(r.High, 0)) {
						t.Errorf("n=%d, %d workers: range %+v", n, workers, r)
					}
				}
				shortest := e.CoreSeconds.Mid / min(float64(workers), float64(max(e.Tasks, 1)))
				if e.Seconds.Mid < shortest || e.Seconds.Mid > before {
					t.Errorf("n=%d, %d workers: %v s, want %v to %v", n, workers, e.Seconds.Mid, shortest, before)
				}
				before = e.Seconds.Mid * 1.05 // each has a sample of its own
			}
		}
	})
}

// An estimate ends with the cause of its context: before it starts, and during a kernel's
// call.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enough := errors.New("enough")
		endless := sleeper{func(*queens.Board, queens.Prefix) time.Duration { return 1000 * time.Hour }}
		for _, n := range []int{1, 18} {
			for _, after := range []time.Duration{0, time.Second} {
				ctx, cancel := context.WithCancelCause(t.Context())
				if after > 0 {
					time.AfterFunc(after, func() { cancel(enough) })
				} else {
					cancel(enough)
				}
				start := time.Now()
				_, err := estimate.Run(ctx, estimate.Job{N: n, Kernel: endless.kernel(t), Workers: 3, Threads: 3})
				if took := time.Since(start); !errors.Is(err, enough) || took > after {
					t.Errorf("n=%d, cancelled after %v: error %v after %v", n, after, err, took)
				}
			}
		}
	})
}

// An estimate returns the error of the kernel, whichever call fails. All counters are closed.
func TestKernelFails(t *testing.T) {
	errBroken := errors.New("broken")
	for _, c := range []struct {
		name       string
		count, new int64 // the call that fails, from 1; 0 for none
	}{{"a Count", 3, 0}, {"the first New", 0, 1}, {"the second New", 0, 2}, {"the last New", 0, 3}} {
		t.Run(c.name, func(t *testing.T) {
			var counts, news atomic.Int64
			broken := kerneltest.Fake{
				Count: func(context.Context, *queens.Board, []queens.Prefix, *atomic.Uint64) (uint64, error) {
					if counts.Add(1) == c.count {
						return 0, errBroken
					}
					return 0, nil
				},
				New: func() error {
					if news.Add(1) == c.new {
						return errBroken
					}
					return nil
				},
			}
			_, err := estimate.Run(t.Context(), estimate.Job{N: 10, Kernel: broken.Kernel(t), Workers: 2, Threads: 2})
			if !errors.Is(err, errBroken) || c.new > 0 && !strings.Contains(err.Error(), "kernel fake") {
				t.Errorf("error %v, want the kernel's", err)
			}
			if open := broken.Open.Load(); open != 0 {
				t.Errorf("%d counters are not closed", open)
			}
		})
	}
}

// Invalid jobs are rejected.
func TestValidate(t *testing.T) {
	for _, job := range []estimate.Job{
		{N: 0, Workers: 1, Threads: 1}, {N: 33, Workers: 1, Threads: 1}, {N: 8, Workers: 0, Threads: 1},
		{N: 8, Workers: 2, Threads: 0}, {N: 8, Workers: 2, Threads: 3},
	} {
		if err := job.Validate(); err == nil {
			t.Errorf("%+v is taken for a job", job)
		}
	}
	if err := (&estimate.Job{N: 8, Workers: 2, Threads: 2}).Validate(); err != nil {
		t.Error(err)
	}
}

// Time in which the threads of the sample had no core is part of the middle of the range, not of
// its low end, because the cores may be free during the count. If they were free during the
// sample, or if that is not known, both ends are equally far from the middle.
func TestLowEndIsOfAFreeMachine(t *testing.T) {
	const threads = 2
	for _, c := range []struct {
		share float64 // of the time, that the threads have a core
		known bool
		low   float64 // of the middle; 0: as far below it as the high end is above
	}{
		{0, false, 0}, {0.5, true, 0.5 / 1.15}, {1.5, true, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			ran := func() (time.Duration, bool) {
				return time.Duration(c.share * threads * float64(time.Since(start))), c.known
			}
			core := mustRun(t, estimate.Job{N: 10, Kernel: simple.kernel(t), Workers: threads, Threads: threads, CPUClock: ran}).CoreSeconds
			want := c.low
			if want == 0 {
				want = core.Mid / core.High
			}
			if got := core.Low / core.Mid; math.Abs(got-want) > 0.02 {
				t.Errorf("share %v, known %v: core time %+v: the low end is %.3f of the middle, want %.3f", c.share, c.known, core, got, want)
			}
		})
	}
}
