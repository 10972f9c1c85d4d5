package kernel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"nqueens/pkg/queens"
)

// ErrDeviceLost is the cause of an error of Count or CountTasks after which the Counter can't count
// any more, because its device failed or does not answer. Counters of threads never return it.
var ErrDeviceLost = errors.New("the device is lost")

// BatchCounter is a [Counter] that counts many tasks of one board at once, a count each, as devices
// with thousands of lanes do.
type BatchCounter interface {
	Counter
	// CountTasks counts the completions of the prefixes of each task on board b. It sets the first n
	// counts, all of them if there is no error. Otherwise it is as Count.
	CountTasks(ctx context.Context, b *queens.Board, tasks [][]queens.Prefix, pulse *atomic.Uint64, counts []uint64) (n int, err error)
}

// CountTasks counts tasks of one board: a [BatchCounter] counts all at once, and each gets an equal part of the time; any
// other counter counts one after the other. It returns the counts of all tasks, or of the first ones with an error. Kernel of
// the counts is not set.
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
