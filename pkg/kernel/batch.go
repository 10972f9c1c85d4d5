package kernel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"nqueens/pkg/queens"
)

// ErrDeviceLost is wrapped by an error of Count or CountTasks after which the Counter can't count any more: its device has
// failed or does not answer. Counters that run on threads never return it.
var ErrDeviceLost = errors.New("the device is lost")

// BatchCounter is a [Counter] that can count many tasks of one board at once. Devices with thousands of lanes need many tasks
// to be busy.
type BatchCounter interface {
	Counter
	// CountTasks counts tasks on board b. It sets counts[i] to the number of completions of the prefixes of tasks[i], for the
	// first n tasks. If there is no error, n is the number of tasks. The rest of its contract is that of Count.
	CountTasks(ctx context.Context, b *queens.Board, tasks [][]queens.Prefix, pulse *atomic.Uint64, counts []uint64) (n int, err error)
}

// CountTasks counts tasks of one board. A [BatchCounter] counts all at once; then Elapsed of each is an equal part of the
// time. Any other counter counts one after the other. With an error, CountTasks returns the counts of the first tasks, as far
// as they are complete. It does not set Kernel in the counts.
func CountTasks(ctx context.Context, c Counter, b *queens.Board, tasks [][]queens.Prefix, pulse *atomic.Uint64) ([]queens.TaskCount, error) {
	counted := make([]queens.TaskCount, 0, len(tasks))
	batch, ok := c.(BatchCounter)
	if !ok {
		for _, prefixes := range tasks {
			start := time.Now()
			n, err := c.Count(ctx, b, prefixes, pulse)
			if err != nil {
				return counted, err
			}
			pulse.Add(1) // the search of a small task may end before it does so
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
