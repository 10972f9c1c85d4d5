package session

import (
	"context"
	"sync/atomic"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// referee counts a disputed task by the reference kernel: plain Go, on any machine.
func referee(ctx context.Context, task *queens.Task) (queens.TaskCount, error) {
	return countWith(ctx, kernel.Reference(), task)
}

// check counts a task by the fastest other kernel than the one named.
func check(ctx context.Context, task *queens.Task, name string) (queens.TaskCount, error) {
	return countWith(ctx, kernel.Other(name, task.Board.N), task)
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
