// Package count counts tasks in this process, on several threads: the tasks of a whole board,
// exported tasks, or any others. It also makes a coordinator's recount, in a child process. It
// needs no server and no ledger.
package count

import (
	"context"
	"fmt"
	"math/big"
	"sync/atomic"

	"nqueens/pkg/halves"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Job describes the count of a whole board.
type Job struct {
	Method   queens.Method
	N        int
	Symmetry queens.Symmetry
	// Placed are queens placed beforehand. If there are any, Symmetry must be None.
	Placed  []queens.Square
	Kernel  kernel.Kernel // of the method prefixes
	Halves  halves.Kernel // of the method halves; the zero value is the default of this machine
	Threads int           // At least 1.
}

// Run splits a board, counts all its tasks and returns the total.
func Run(ctx context.Context, job Job) (*big.Int, error) {
	if job.Threads < 1 {
		return nil, fmt.Errorf("a count needs at least 1 thread, not %d", job.Threads)
	}
	by := Kernels{Prefixes: job.Kernel, Halves: job.Halves}
	what := queens.Manifest{Method: job.Method, N: job.N, Symmetry: job.Symmetry, Placed: job.Placed}
	manifest, index, err := split.New(ctx, what, 0)
	if err != nil {
		return nil, err
	}
	var sums queens.Sums
	err = Each(ctx, by, job.Threads, new(atomic.Uint64), index.All(),
		func(id uint64, c queens.TaskCount) error {
			sums.Add(manifest.Classes[manifest.ClassOf(id)].Weight, c.Count)
			return nil
		})
	if err != nil {
		return nil, err
	}
	return sums.Total(), nil
}

// One counts a task. It returns errors as [Each] does.
func One(ctx context.Context, by Kernels, task *queens.Task) (one queens.TaskCount, err error) {
	tasks := func(yield func(uint64, queens.Task) bool) { yield(task.ID, *task) }
	err = Each(ctx, by, 1, new(atomic.Uint64), tasks, func(_ uint64, c queens.TaskCount) error {
		one = c
		return nil
	})
	return one, err
}
