package count_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
)

// A kernel that counts many tasks at once gets AtOnce tasks in each call but the last, whatever
// their boards. Each task gets its own count.
func TestEachCountsBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, atOnce = 100, 32
		var calls atomic.Int32
		countTasks := func(_ context.Context, tasks []queens.Task, _ *atomic.Uint64,
			counts []uint64) (int, error) {
			time.Sleep(time.Second)
			calls.Add(1)
			if len(tasks) > atOnce {
				t.Errorf("%d tasks at once", len(tasks))
			}
			for i, task := range tasks {
				counts[i] = uint64(task.Prefixes[0].Cols) * uint64(task.Board.N)
			}
			return len(tasks), nil
		}
		fake := &kerneltest.Fake{CountTasks: countTasks}
		k := fake.Kernel(t)
		k.AtOnce = atOnce
		var counted int
		err := count.Each(t.Context(), count.Kernels{Prefixes: k}, 1, new(atomic.Uint64),
			func(yield func(queens.Task, queens.Task) bool) {
				for i := range n {
					task := queens.Task{ID: uint64(i), Board: queens.FullBoard(8 + i/50),
						Prefixes: []queens.Prefix{{Cols: uint32(i)}}}
					if !yield(task, task) {
						return
					}
				}
			}, func(task queens.Task, c queens.TaskCount) error {
				if want := task.ID * uint64(task.Board.N); c.Count != want || counted != int(task.ID) ||
					c.Kernel != "fake" || c.Elapsed <= 0 {
					t.Errorf("task %d: %+v", task.ID, c)
				}
				counted++
				return nil
			})
		if err != nil || counted != n {
			t.Errorf("error %v, counted %d of %d tasks", err, counted, n)
		}
		if calls := calls.Load(); calls != (n+atOnce-1)/atOnce {
			t.Errorf("%d calls for %d tasks of two boards", calls, n)
		}
	})
}
