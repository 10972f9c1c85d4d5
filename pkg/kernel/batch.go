package kernel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// ErrDeviceLost is the cause of an error of Count or CountTasks after which the Counter can't count
// any more, because its device failed or does not answer. Counters of threads never return it.
var ErrDeviceLost = errors.New("the device is lost")

// BatchCounter is a [Counter] that counts many tasks of one board at once, a count each, as devices
// with thousands of lanes do.
type BatchCounter interface {
	Counter
	// CountTasks counts the completions of the prefixes of each task on board b. It calls done with
	// the index of a task and its count as soon as it knows that, in any order, on the goroutine of
	// the caller. Otherwise it is as Count. The counts that done was called with are right with any
	// error.
	CountTasks(ctx context.Context, b *queens.Board, tasks [][]queens.Prefix, pulse *atomic.Uint64, done func(task int, count uint64)) error
}

// CountTasks counts tasks with a Counter as [BatchCounter] says: at once if it is one, otherwise one
// after the other. It is an error if that counts a task twice, or ends without an error and not all counted;
// done is called at most once for each task all the same.
func CountTasks(ctx context.Context, c Counter, b *queens.Board, tasks [][]queens.Prefix, pulse *atomic.Uint64, done func(task int, count uint64)) error {
	if batch, ok := c.(BatchCounter); ok {
		return countOnce(len(tasks), done, func(done func(int, uint64)) error {
			return batch.CountTasks(ctx, b, tasks, pulse, done)
		})
	}
	for i, prefixes := range tasks {
		count, err := c.Count(ctx, b, prefixes, pulse)
		if err != nil {
			return err
		}
		done(i, count)
	}
	return nil
}

// countOnce calls count with a done that checks what count calls it with.
func countOnce(tasks int, done func(task int, count uint64), count func(done func(int, uint64)) error) error {
	counted := make([]bool, tasks)
	left, twice := tasks, 0
	err := count(func(task int, count uint64) {
		if counted[task] {
			twice++
			return
		}
		counted[task] = true
		left--
		done(task, count)
	})
	switch {
	case err != nil:
		return err
	case twice > 0:
		return fmt.Errorf("%d of %d tasks were counted twice", twice, tasks)
	case left > 0:
		return fmt.Errorf("%d of %d tasks have no count", left, tasks)
	}
	return nil
}
