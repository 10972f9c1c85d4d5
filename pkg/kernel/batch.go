package kernel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"nqueens/pkg/queens"
)

// ErrDeviceLost says that the device of a Counter has failed or does not answer. Count and CountTasks then return an error that
// wraps it, and the Counter can't count any more. The kernels of this package never return it.
var ErrDeviceLost = errors.New("the device is lost")

// BatchCounter is a [Counter] that can count many tasks of one board at once. A device with thousands of lanes is busy only
// with many tasks.
type BatchCounter interface {
	Counter
	// CountTasks sets counts[i] to the number of completions of the prefixes of tasks[i] on board b, for the first n tasks.
	// counts must have an element for each task. If there is no error, n is the number of tasks. Everything else is as for
	// Count.
	CountTasks(
		ctx context.Context, b *queens.Board, tasks [][]queens.Prefix, pulse *atomic.Uint64, counts []uint64,
	) (n int, err error)
}

// CountTasks counts tasks of one board. A [BatchCounter] counts all at once; then Elapsed of each is an equal part of the time.
// Any other counter counts one after the other. If the counter returns an error, CountTasks returns it, and the counts of the
// tasks that were counted before. The counts do not name the kernel.
func CountTasks(
	ctx context.Context, c Counter, b *queens.Board, tasks [][]queens.Prefix, pulse *atomic.Uint64,
) ([]queens.TaskCount, error) {
	counted := make([]queens.TaskCount, 0, len(tasks))
	batch, ok := c.(BatchCounter)
	if !ok {
		for _, prefixes := range tasks {
			start := time.Now()
			n, err := c.Count(ctx, b, prefixes, pulse)
			if err != nil {
				return counted, err
			}
			pulse.Add(1) // the search of a small task may end before it increments the pulse
			counted = append(counted, queens.TaskCount{Count: n, Elapsed: time.Since(start)})
		}
		return counted, nil
	}
	counts, start := make([]uint64, len(tasks)), time.Now()
	n, err := batch.CountTasks(ctx, b, tasks, pulse, counts)
	if err == nil && n != len(tasks) {
		return nil, fmt.Errorf("%d of %d tasks have no count", len(tasks)-n, len(tasks))
	}
	each := time.Since(start) / time.Duration(max(1, len(tasks)))
	for _, count := range counts[:n] {
		counted = append(counted, queens.TaskCount{Count: count, Elapsed: each})
	}
	return counted, err
}
