package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// Every kernel of this machine passes its check.
func TestCheck(t *testing.T) {
	for _, k := range kernel.Available() {
		if err := kernel.SelfTest(t.Context(), k); err != nil {
			t.Error(err)
		}
	}
}

// A kernel that is wrong for any one side does not pass: the error names it, the side
// and both numbers.
func TestCheckOfAWrongKernel(t *testing.T) {
	for n := 1; n <= kernel.SelfTestN; n++ {
		known, _ := queens.KnownTotal(n)
		err := kernel.SelfTest(t.Context(), offByOne(n))
		if err == nil {
			t.Errorf("a kernel that is wrong for n = %d passes", n)
			continue
		}
		for _, part := range []string{"kernel wrong", fmt.Sprintf("n = %d,", n), fmt.Sprintf(" %v:", known), fmt.Sprintf(" %d ", known.Uint64()+1)} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: does not say %q", err, part)
			}
		}
	}
}

// A check that is no longer wanted ends with the reason, which is no verdict.
func TestCheckEndsWithItsContext(t *testing.T) {
	reason := errors.New("not wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	for _, k := range kernel.Available() {
		if err := kernel.SelfTest(ctx, k); !errors.Is(err, reason) {
			t.Errorf("kernel %s: error %v, want %v", k.Name, err, reason)
		}
	}
}

// offByOne returns a kernel that counts one solution too many on boards of side n.
func offByOne(n int) kernel.Kernel {
	return kernel.Kernel{Name: "wrong", New: func() kernel.Counter {
		right, err := kernel.Choose("generic")
		if err != nil {
			panic(err)
		}
		return wrongCounter{right.New(), n}
	}}
}

type wrongCounter struct {
	right kernel.Counter
	n     int
}

func (w wrongCounter) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	found, err := w.right.Count(ctx, b, prefixes, pulse)
	if err == nil && b.N == w.n {
		found++
	}
	return found, err
}
