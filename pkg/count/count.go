// Package count counts tasks in this process, on a pool of threads: the tasks of a whole
// board, exported tasks, or any others; and a task of which a coordinator makes a recount, in a child process. It knows neither
// transport nor ledger.
package count

import (
	"context"
	"fmt"
	"math/big"
	"sync/atomic"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// Job is the count of a whole board.
type Job struct {
	N        int
	Symmetry queens.Symmetry
	// Placed are queens placed beforehand, if any. Symmetry is then None.
	Placed  []queens.Square
	Kernel  kernel.Kernel
	Threads int // At least 1.
}

// Run splits a board, counts all its tasks and returns the total.
func Run(ctx context.Context, job Job) (*big.Int, error) {
	if job.Threads < 1 {
		return nil, fmt.Errorf("a count needs at least 1 thread, not %d", job.Threads)
	}
	classes, err := symmetry.Classes(job.N, job.Symmetry, job.Placed...)
	if err != nil {
		return nil, err
	}
	manifest, index, err := split.Plan(ctx, job.N, job.Symmetry, classes, 0)
	if err != nil {
		return nil, err
	}
	var sums symmetry.Sums
	err = Each(ctx, job.Kernel, job.Threads, index.All(), func(c Counted) error {
		sums.Add(manifest.Classes[manifest.ClassOf(c.Task.ID)].Weight, c.Count)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sums.Total(), nil
}

// One counts a task. The error is that of the kernel, or the cause if ctx ends.
func One(ctx context.Context, k kernel.Kernel, task *queens.Task) (one queens.TaskCount, err error) {
	err = k.WithCounter(func(c kernel.Counter) error {
		counts, err := kernel.CountTasks(ctx, c, &task.Board, [][]queens.Prefix{task.Prefixes}, new(atomic.Uint64))
		if err == nil {
			one = counts[0]
			one.Kernel = k.Name
		}
		return err
	})
	return one, err
}
