package session

import (
	"context"
	"sync/atomic"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// recount counts a task by the fastest other kernel than those named.
func recount(ctx context.Context, task *queens.Task, kernels ...string) (queens.TaskCount, error) {
	return countWith(ctx, kernel.Other(task.Board.N, kernels...), task)
}

func countWith(ctx context.Context, k kernel.Kernel, task *queens.Task) (queens.TaskCount, error) {
	own := queens.TaskCount{Hash: task.Hash()}
	start := time.Now()
	err := k.WithCounter(func(c kernel.Counter) (err error) {
		own.Count, err = c.Count(ctx, &task.Board, task.Prefixes, new(atomic.Uint64))
		own.Kernel = c.LastKernel()
		return err
	})
	own.Elapsed = time.Since(start)
	return own, err
}
