package estimate_test

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/estimate"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/testkit"
)

// sleeper is a kernel that counts nothing: it sleeps for each prefix. With fake time, that sleep
// is the exact cost of its search.
type sleeper struct {
	cost func(b *queens.Board, p queens.Prefix) time.Duration
}

func (s sleeper) kernel(t testing.TB) kernel.Kernel {
	return (&kerneltest.Fake{Count: s.count}).Kernel(t)
}

func (s sleeper) count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, _ *atomic.Uint64) (uint64, error) {
	var all time.Duration
	for _, p := range prefixes {
		all += s.cost(b, p)
	}
	select {
	case <-time.After(all):
		return 0, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// descendants is a cost that is known for a whole board without a search: a fixed time for each
// prefix of a given depth below the prefix to be counted.
func descendants(rows int, each func(b *queens.Board) time.Duration) sleeper {
	return sleeper{func(b *queens.Board, p queens.Prefix) time.Duration {
		return time.Duration(below(b, p, rows)) * each(b)
	}}
}

// a prefix of five rows takes a microsecond, on any board.
var simple = descendants(5, func(*queens.Board) time.Duration { return time.Microsecond })

// unknown is a clock that does not know the CPU time.
func unknown() (time.Duration, bool) { return 0, false }

func below(b *queens.Board, p queens.Prefix, rows int) (found int) {
	if p.Row >= rows {
		return 1
	}
	for free := p.Free(b); free != 0; free &= free - 1 {
		found += below(b, p.Place(b, free&-free), rows)
	}
	return found
}

// For a kernel of known cost, the estimated time is the true time within the stated error: on small
// sides, whose classes are single tasks, and on larger ones, for any number of threads. A class
// costs about a nanosecond a node, but its prefixes cost what they do seven rows down.
func TestSearchTime(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for seconds")
	}
	const rows = 7
	for _, c := range testkit.Sample(t, 4, []struct {
		n, threads int
		most       float64 // of the error
	}{
		{8, 1, 0.2}, {12, 2, 0.2}, {14, 3, 0.2}, {16, 2, 0.05}, {17, 1, 0.03}, {18, 4, 0.03}, {19, 2, 0.1}, {20, 3, 0.1},
	}) {
		trees := mustProbe(t, c.n, 1<<16, 0)
		classes := mustClasses(t, c.n)
		each := make(map[queens.Board]time.Duration)
		var truth time.Duration
		for i := range classes {
			b := &classes[i].Board
			each[*b] = time.Duration(trees.Profiles[i].NodesBelow(0) / max(trees.Profiles[i][rows], 1))
			truth += each[*b] * time.Duration(below(b, queens.Prefix{}, rows))
		}
		k := descendants(rows, func(b *queens.Board) time.Duration { return each[*b] })
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			cost, err := trees.Search(t.Context(), k.kernel(t), split.PlanSizes(classes), c.threads, unknown)
			if err != nil {
				t.Fatal(err)
			}
			off := cost.Seconds/truth.Seconds() - 1
			t.Logf("n=%d: %.4g s, off by %+.4f, error %.4f, after %v", c.n, cost.Seconds, off, cost.Error, time.Since(start))
			if math.Abs(off) > 3*cost.Error || cost.Error > c.most {
				t.Errorf("n=%d: %v s with an error of %v, the truth is %v", c.n, cost.Seconds, cost.Error, truth)
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("n=%d: the sample took %v", c.n, took)
			}
		})
	}
}

// The kernel gets its sample as a count gives it the tasks: whole tasks, or consecutive prefixes of
// a task where it takes too long. So the estimate holds for a kernel that does some work once for
// prefixes that begin with the same queens, as those do that place queens in outer columns first.
func TestSampleIsOfTasks(t *testing.T) {
	const n, rows = 18, 7
	classes := mustClasses(t, n)
	order := orderOf(t, split.PlanSizes(classes))
	for _, c := range []struct {
		name         string
		each, shared time.Duration // of a prefix of seven rows, and of each group in a call
		whole        bool
	}{
		{"whole tasks", time.Microsecond, 700 * time.Microsecond, true},
		{"parts of tasks", 30 * time.Microsecond, 20 * time.Millisecond, false},
	} {
		cost := func(b *queens.Board, prefixes []queens.Prefix) (all time.Duration) {
			last := -1
			for _, p := range prefixes {
				if group := order[*b].group[p]; group != last {
					all, last = all+c.shared, group
				}
				all += time.Duration(below(b, p, rows)) * c.each
			}
			return all
		}
		var truth time.Duration
		for b, o := range order {
			for task := range slices.Chunk(o.prefixes, o.batch) {
				truth += cost(&b, task)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var calibrated, parts, runs int
			sampling := false
			k := kerneltest.Fake{
				New: func() error {
					mu.Lock()
					defer mu.Unlock()
					sampling = calibrated > 0
					return nil
				},
				Count: func(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, _ *atomic.Uint64) (uint64, error) {
					time.Sleep(cost(b, prefixes))
					mu.Lock()
					defer mu.Unlock()
					if !sampling {
						calibrated++
						return 0, nil
					}
					o := order[*b]
					at := slices.Index(o.prefixes, prefixes[0])
					if at < 0 || !slices.Equal(prefixes, o.prefixes[at:min(at+len(prefixes), len(o.prefixes))]) {
						t.Errorf("%s: a sample of %d prefixes that do not follow each other in the tasks", c.name, len(prefixes))
					}
					runs++
					if at%o.batch > 0 || len(prefixes) < min(o.batch, len(o.prefixes)-at) {
						parts++
					}
					return 0, nil
				},
			}
			e := mustRun(t, estimate.Job{N: n, Kernel: k.Kernel(t), Workers: 2, Threads: 2, CPUClock: unknown})
			core := e.CoreSeconds
			t.Logf("%s: %d runs, %d of them parts of tasks; %.3g s (%.3g to %.3g), the truth is %v", c.name, runs, parts, core.Mid, core.Low, core.High, truth)
			if c.whole && parts > 0 || !c.whole && parts < runs/2 {
				t.Errorf("%s: %d of %d runs are parts of tasks", c.name, parts, runs)
			}
			if s := truth.Seconds(); s < core.Low || s > core.High || core.High > 3*core.Mid {
				t.Errorf("%s: estimate %.3g s (%.3g to %.3g), the truth is %v", c.name, core.Mid, core.Low, core.High, truth)
			}
		})
	}
}

// taskOrder is the prefixes of a class in the order of its tasks.
type taskOrder struct {
	batch    int
	prefixes []queens.Prefix
	group    map[queens.Prefix]int // the same for prefixes that differ in the last queen only
}

func orderOf(t *testing.T, plans []queens.ClassPlan) map[queens.Board]taskOrder {
	t.Helper()
	order := make(map[queens.Board]taskOrder)
	for i := range plans {
		b := &plans[i].Board
		o := taskOrder{batch: plans[i].Batch, group: make(map[queens.Prefix]int)}
		group := 0
		rows := queens.ClassPlan{Class: plans[i].Class, Depth: plans[i].Depth - 1, Batch: 1}
		for task := range split.Tasks(&queens.Manifest{Classes: []queens.ClassPlan{rows}}) {
			above := task.Prefixes[0]
			for free := above.Free(b); free != 0; free &= free - 1 {
				p := above.Place(b, free&-free)
				if _, twice := o.group[p]; twice {
					t.Fatalf("two placements give the prefix %+v", p)
				}
				o.prefixes, o.group[p] = append(o.prefixes, p), group
			}
			group++
		}
		order[*b] = o
	}
	return order
}
