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
	own := queens.TaskCount{Hash: task.Hash()}
	start := time.Now()
	err := kernel.Reference().WithCounter(func(c kernel.Counter) (err error) {
		own.Count, err = c.Count(ctx, &task.Board, task.Prefixes, new(atomic.Uint64))
		own.Kernel = c.LastKernel()
		return err
	})
	own.Elapsed = time.Since(start)
	return own, err
}
