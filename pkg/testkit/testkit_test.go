package testkit

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestEventuallyWaitsUntilTheConditionHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		Eventually(t, "most of Stall has passed", func() bool { return time.Since(start) > Stall*9/10 })
	})
}

func TestEventuallyFailsAfterAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		failure := failureOf(t, func(t testing.TB) { Eventually(t, "the moon falls", func() bool { return false }) })
		if waited := time.Since(start); !strings.Contains(failure, "the moon falls") || waited < Stall || waited > Stall+time.Second {
			t.Errorf("failed after %v with %q", waited, failure)
		}
	})
}

func TestSeedRepeatsRandomNumbers(t *testing.T) {
	t.Setenv("SEED", "18446744073709551615")
	if first, second := Rand(t).Uint64(), Rand(t).Uint64(); first != second {
		t.Errorf("one seed gives %d and %d", first, second)
	}
	t.Setenv("SEED", "-1")
	if failure := failureOf(t, func(t testing.TB) { Rand(t) }); !strings.Contains(failure, `SEED="-1"`) {
		t.Errorf("a wrong seed fails with %q", failure)
	}
}

func TestSampleKeepsOrderAndIsRepeatable(t *testing.T) {
	cases := []int{10, 11, 12, 13, 14, 15, 16, 17}
	t.Setenv("NQUEENS_TEST_FULL", "")
	for seed := range 50 {
		t.Setenv("SEED", fmt.Sprint(seed))
		sample := Sample(t, 3, cases)
		if len(sample) != 3 || !slices.IsSorted(sample) || len(slices.Compact(slices.Clone(sample))) != 3 {
			t.Errorf("3 of %d are %d", cases, sample)
		}
		if again := Sample(t, 3, cases); !slices.Equal(again, sample) {
			t.Errorf("seed %d samples %d, then %d", seed, sample, again)
		}
	}
	if all := Sample(t, 9, cases); !slices.Equal(all, cases) {
		t.Errorf("9 of 8 cases are %d", all)
	}
	t.Setenv("NQUEENS_TEST_FULL", "1")
	if all := Sample(t, 3, cases); !slices.Equal(all, cases) {
		t.Errorf("a full run has only %d", all)
	}
}

// failed is a test that keeps the message it fails with.
type failed struct {
	testing.TB
	message string
}

func (f *failed) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failureOf returns the message that a test fails with.
func failureOf(t *testing.T, test func(testing.TB)) string {
	f := &failed{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(f)
	}()
	<-done
	return f.message
}
