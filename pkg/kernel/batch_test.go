package kernel_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
)

// A kernel that counts a task twice or leaves one out fails, and no count is passed on twice.
func TestEveryTaskIsCountedOnce(t *testing.T) {
	for _, test := range []struct {
		calls   []int
		message string // of the error
	}{
		{[]int{2, 0, 1}, ""},
		{[]int{0, 2}, "1 of 3 tasks have no count"},
		{nil, "3 of 3 tasks have no count"},
		{[]int{0, 1, 2, 1}, "1 of 3 tasks were counted twice"},
		{[]int{1, 1, 2}, "1 of 3 tasks were counted twice"},
	} {
		fake := &kerneltest.Fake{CountTasks: func(_ context.Context, _ *queens.Board, _ [][]queens.Prefix, _ *atomic.Uint64, done func(int, uint64)) error {
			for i, task := range test.calls {
				done(task, uint64(i))
			}
			return nil
		}}
		err := fake.Kernel(t).WithCounter(func(c kernel.Counter) error {
			board := queens.FullBoard(4)
			done := make(map[int]int)
			err := kernel.CountTasks(t.Context(), c, &board, make([][]queens.Prefix, 3), new(atomic.Uint64), func(task int, _ uint64) { done[task]++ })
			for task, times := range done {
				if times != 1 {
					t.Errorf("%v: the count of task %d is passed on %d times", test.calls, task, times)
				}
			}
			return err
		})
		if (err == nil) != (test.message == "") || err != nil && !strings.Contains(err.Error(), test.message) {
			t.Errorf("%v: error %v, want %q", test.calls, err, test.message)
		}
	}
}
