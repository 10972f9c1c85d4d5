//go:build unix

package estimate_test

import (
	"testing"
	"testing/synctest"

	"nqueens/pkg/estimate"
)

// Time for which the threads of the sample have no core, here because they sleep, is in the
// middle of the range and not at its low end: it may be free when the count is made.
func TestLowEndIsOfAFreeMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mustRun(t, estimate.Job{N: 16, Kernel: simple, Workers: 2, Threads: 2})
		if e.CoreSeconds.Low > e.CoreSeconds.Mid/2 {
			t.Errorf("core time %+v: the low end is not below half of the middle", e.CoreSeconds)
		}
	})
}
