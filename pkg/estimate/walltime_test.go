package estimate_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/estimate"
)

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
			core := mustRun(t, estimate.Job{N: 16, Kernel: simple.kernel(t), Workers: threads, Threads: threads, CPUClock: ran}).CoreSeconds
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
