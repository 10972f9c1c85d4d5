package kernel_test

import (
	"context"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
)

// CountTasks fails if a kernel returns too few counts and no error.
func TestEveryTaskIsCounted(t *testing.T) {
	for n := range 4 {
		countTasks := func(context.Context, []queens.Task, *atomic.Uint64, []uint64) (int, error) {
			return n, nil
		}
		fake := &kerneltest.Fake{CountTasks: countTasks}
		c := kerneltest.NewCounter(t, fake.Kernel(t))
		counts, err := kernel.CountTasks(t.Context(), c, make([]queens.Task, 3), new(atomic.Uint64))
		if complete := n == 3; (err == nil) != complete || (len(counts) == 3) != complete {
			t.Errorf("%d of 3 tasks counted: %d counts, error %v", n, len(counts), err)
		}
	}
}
