package estimate_test

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/estimate"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// sleeper returns a kernel that counts nothing, and sleeps for the cost of each prefix. With fake
// time, a search takes exactly that long.
func sleeper(
	t *testing.T, cost func(b *queens.Board, p queens.Prefix) time.Duration,
) kernel.Kernel {
	fake := &kerneltest.Fake{Count: func(ctx context.Context, b *queens.Board,
		prefixes []queens.Prefix, _ *atomic.Uint64) (uint64, error) {
		var all time.Duration
		for _, p := range prefixes {
			all += cost(b, p)
		}
		select {
		case <-time.After(all):
			return 0, nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}}
	return fake.Kernel(t)
}

// below returns the number of prefixes of the given number of rows that begin with p.
func below(b *queens.Board, p queens.Prefix, rows int) (found int) {
	if p.Row >= rows {
		return 1
	}
	for free := p.Free(b); free != 0; free &= free - 1 {
		found += below(b, p.Place(b, free&-free), rows)
	}
	return found
}

func mustClasses(t *testing.T, n int) []queens.Class {
	t.Helper()
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	return classes
}

// If the cost of a kernel is known, the true time is within the estimated range, which is narrow.
// That is so for small sides, whose classes are single tasks, for larger sides, and on one or more
// threads. A class costs about a nanosecond for each node; a prefix costs as much as all prefixes
// of seven rows that begin with it.
func TestTimeOfAKnownKernel(t *testing.T) {
	const rows = 7
	for _, c := range []struct{ n, threads int }{{8, 1}, {12, 2}, {16, 2}, {18, 4}, {20, 3}} {
		each := make(map[queens.Board]time.Duration)
		var truth time.Duration
		for _, class := range mustClasses(t, c.n) {
			profile := split.Probe(class.Board, 1<<12)
			each[class.Board] = time.Duration(profile.NodesBelow(0) / max(profile[rows], 1))
			truth += each[class.Board] * time.Duration(below(&class.Board, queens.Prefix{}, rows))
		}
		synctest.Test(t, func(t *testing.T) {
			k := sleeper(t, func(b *queens.Board, p queens.Prefix) time.Duration {
				return each[*b] * time.Duration(below(b, p, rows))
			})
			start := time.Now()
			e, err := estimate.Run(t.Context(),
				estimate.Job{N: c.n, Kernel: k, Threads: c.threads, Cores: c.threads})
			if err != nil {
				t.Fatal(err)
			}
			core, s := e.CoreSeconds, truth.Seconds()
			t.Logf("n = %d: %.4g s (%.4g to %.4g), the truth is %.4g s, after %v", c.n, core.Mid, core.Low,
				core.High, s, time.Since(start))
			if s < core.Low || s > core.High || core.High > 2*core.Mid {
				t.Errorf("n = %d: %.4g s (%.4g to %.4g), the truth is %.4g s", c.n, core.Mid, core.Low,
					core.High, s)
			}
			if e.Seconds.Mid < core.Mid/float64(c.threads) {
				t.Errorf("n = %d: %.4g s on %d threads, which search for %.4g s", c.n, e.Seconds.Mid, c.threads,
					core.Mid)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("n = %d: the sample took %v", c.n, took)
			}
		})
	}
}

// The same holds for devices, which count many tasks at once in a time that grows slowly with their
// number, and for several of them. The time of a device is that of its tasks one after the other;
// each call takes 100 ms more.
func TestTimeOfKnownDevices(t *testing.T) {
	const rows = 7
	for _, c := range []struct{ n, devices int }{{18, 1}, {20, 3}} {
		each := make(map[queens.Board]time.Duration)
		var truth time.Duration
		for _, class := range mustClasses(t, c.n) {
			profile := split.Probe(class.Board, 1<<12)
			each[class.Board] = time.Duration(profile.NodesBelow(0) / max(profile[rows], 1) / 4)
			truth += each[class.Board] * time.Duration(below(&class.Board, queens.Prefix{}, rows))
		}
		synctest.Test(t, func(t *testing.T) {
			fake := &kerneltest.Fake{CountTasks: func(_ context.Context, tasks []queens.Task,
				_ *atomic.Uint64, _ []uint64) (int, error) {
				took := 100 * time.Millisecond
				for i := range tasks {
					for _, p := range tasks[i].Prefixes {
						took += each[tasks[i].Board] * time.Duration(below(&tasks[i].Board, p, rows))
					}
				}
				time.Sleep(took)
				return len(tasks), nil
			}}
			start := time.Now()
			e, err := estimate.Run(t.Context(), estimate.Job{
				N: c.n, Kernel: fake.Kernel(t), Threads: c.devices, Cores: c.devices, Fleets: []int{1, 8, 64},
			})
			if err != nil {
				t.Fatal(err)
			}
			core, s := e.CoreSeconds, truth.Seconds()
			t.Logf("n = %d: %.4g s (%.4g to %.4g), the truth is %.4g s, after %v", c.n, core.Mid, core.Low,
				core.High, s, time.Since(start))
			if s < core.Low || s > core.High || core.High > 2*core.Mid {
				t.Errorf("n = %d: %.4g s (%.4g to %.4g), the truth is %.4g s", c.n, core.Mid, core.Low,
					core.High, s)
			}
			if len(e.Fleets) != 3 || e.Fleets[1].Threads != 8 || e.Fleets[2].Seconds > e.Fleets[1].Seconds {
				t.Errorf("n = %d: the fleets are %+v", c.n, e.Fleets)
			}
		})
	}
}

// The estimated number of nodes is about the true number. More threads take less time, but not less
// than a task takes.
func TestNodesAndFleets(t *testing.T) {
	const n = 12
	var exact float64
	for _, class := range mustClasses(t, n) {
		for depth := range n {
			exact += float64(below(&class.Board, queens.Prefix{}, depth+1))
		}
	}
	e, err := estimate.Run(t.Context(),
		estimate.Job{N: n, Kernel: kernel.Reference(), Threads: 1, Cores: 1, Fleets: []int{16, 64, 1024}})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(e.Nodes-exact) > 0.05*exact {
		t.Errorf("%.4g nodes, the truth is %.4g", e.Nodes, exact)
	}
	before := e.Seconds.Mid
	for _, f := range e.Fleets {
		if task := e.CoreSeconds.Mid / e.Tasks; f.Seconds > before || f.Seconds < task {
			t.Errorf("%d threads: %.4g s, fewer took %.4g s, and a task takes %.4g s", f.Threads, f.Seconds,
				before, task)
		}
		before = f.Seconds
	}
}

// Run returns the error of the kernel, or the cause of a context that ends before the start or
// during a search.
func TestEstimateEnds(t *testing.T) {
	enough := errors.New("enough")
	endless := func(*queens.Board, queens.Prefix) time.Duration { return 1000 * time.Hour }
	for _, after := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			if after == 0 {
				cancel(enough)
			}
			defer time.AfterFunc(after, func() { cancel(enough) }).Stop()
			_, err := estimate.Run(ctx,
				estimate.Job{N: 18, Kernel: sleeper(t, endless), Threads: 3, Cores: 3})
			if !errors.Is(err, enough) {
				t.Errorf("canceled after %v: error %v", after, err)
			}
		})
	}
	broken := &kerneltest.Fake{New: func() error { return enough }}
	if _, err := estimate.Run(t.Context(),
		estimate.Job{N: 8, Kernel: broken.Kernel(t), Threads: 1, Cores: 1}); !errors.Is(err, enough) {
		t.Errorf("a kernel without a counter: error %v", err)
	}
}

// Boards without a solution get an estimate. Sides and numbers of threads that are out of range get
// an error.
func TestEdges(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		e, err := estimate.Run(t.Context(),
			estimate.Job{N: n, Kernel: kernel.Reference(), Threads: 2, Cores: 2})
		if err != nil || math.IsNaN(e.CoreSeconds.Mid) || e.CoreSeconds.High > 1 {
			t.Errorf("n = %d: %+v, error %v", n, e, err)
		}
	}
	for _, job := range []estimate.Job{{N: 0, Threads: 1, Cores: 1}, {N: 33, Threads: 1, Cores: 1},
		{N: 8, Cores: 1}, {N: 8, Threads: 1}} {
		job.Kernel = kernel.Reference()
		if _, err := estimate.Run(t.Context(), job); err == nil {
			t.Errorf("%+v has an estimate", job)
		}
	}
}
