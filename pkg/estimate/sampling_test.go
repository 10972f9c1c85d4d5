package estimate_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
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
// sides, whose classes are counted whole, on sides whose pools are complete, and on sides whose
// pools are random. The error is small where the pools are large. A class costs about a nanosecond
// a node, but its prefixes cost what they do seven rows down.
func TestSearchTime(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for seconds")
	}
	const rows = 7
	for _, c := range []struct {
		n, threads int
		most       float64 // of the error
	}{
		{8, 1, 0.2}, {12, 2, 0.2}, {14, 3, 0.2}, {16, 2, 0.05}, {17, 1, 0.03}, {18, 4, 0.03}, {19, 2, 0.03}, {20, 3, 0.03},
	} {
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
