package kernel_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
)

// paced is a kernel that takes so long for a call, and so long for each prefix.
func paced(t *testing.T, call, prefix time.Duration) kernel.Kernel {
	return loading(t, 0, call, prefix)
}

// loading is paced, and takes so much longer for its first call.
func loading(t *testing.T, first, call, prefix time.Duration) kernel.Kernel {
	calls := 0
	fake := &kerneltest.Fake{CountTasks: func(_ context.Context, b *queens.Board, tasks [][]queens.Prefix, _ *atomic.Uint64, _ []uint64) (int, error) {
		time.Sleep(call)
		if calls++; calls == 1 {
			time.Sleep(first)
		}
		for _, prefixes := range tasks {
			for j := range prefixes {
				if err := prefixes[j].Validate(b); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(prefix * time.Duration(len(prefixes)))
		}
		return len(tasks), nil
	}}
	return fake.Kernel(t)
}

// A device is worth as many threads as it is faster, though each call takes some time, at least 1 and
// no more than fleets know.
func TestEquivalent(t *testing.T) {
	for _, test := range []struct {
		name            string
		call, device    time.Duration
		thread          time.Duration
		atLeast, atMost int
	}{
		{"a GPU", 10 * time.Millisecond, time.Microsecond, 100 * time.Microsecond, 90, 100},
		{"as fast as a thread", 0, 100 * time.Microsecond, 100 * time.Microsecond, 1, 1},
		{"slower", 0, time.Second, 100 * time.Microsecond, 1, 1},
		{"absurdly fast", 0, 0, time.Second, kernel.MaxEquivalent, kernel.MaxEquivalent},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := kernel.Equivalent(t.Context(), paced(t, test.call, test.device), paced(t, 0, test.thread))
				if err != nil || got < test.atLeast || got > test.atMost {
					t.Errorf("%d threads, error %v, want %d to %d", got, err, test.atLeast, test.atMost)
				}
			})
		})
	}
}

// The first call of a device may take longer than all others.
func TestEquivalentOfADeviceThatLoadsItsCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		device, thread := loading(t, time.Second, 10*time.Millisecond, time.Microsecond), paced(t, 0, 100*time.Microsecond)
		if got, err := kernel.Equivalent(t.Context(), device, thread); err != nil || got < 90 || got > 100 {
			t.Errorf("%d threads, error %v, want 90 to 100", got, err)
		}
	})
}

// An error of either kernel is that of the measurement.
func TestEquivalentFails(t *testing.T) {
	broken := errors.New("broken")
	fake := &kerneltest.Fake{CountTasks: func(context.Context, *queens.Board, [][]queens.Prefix, *atomic.Uint64, []uint64) (int, error) {
		return 0, broken
	}}
	good, bad := paced(t, 0, time.Millisecond), fake.Kernel(t)
	for _, pair := range [][2]kernel.Kernel{{good, bad}, {bad, good}} {
		if _, err := kernel.Equivalent(t.Context(), pair[0], pair[1]); !errors.Is(err, broken) {
			t.Errorf("error %v, want %v", err, broken)
		}
	}
}
