package kernel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"nqueens/pkg/queens"
)

// ErrDeviceLost says that the device of a Counter has failed or does not answer. Count and
// CountTasks then return an error that wraps it, and the Counter can't count any more. Counters of
// this package never return it.
var ErrDeviceLost = errors.New("the device is lost")

// ErrBroken says that a kernel has counted wrongly on this machine: nothing that it counts can be
// trusted.
var ErrBroken = errors.New("this machine or this build is broken")

// BatchCounter is a [Counter] that can count many tasks at once. A device with thousands of lanes
// needs many tasks to be busy.
type BatchCounter interface {
	Counter
	// CountTasks counts the completions of each task's prefixes on the task's board; tasks may have
	// different boards. It uses no other field of a task. It sets counts[i] for the first n tasks;
	// counts must have an element for each task. If there is no error, n is the number of tasks.
	// Everything else is as for Count.
	CountTasks(ctx context.Context, tasks []queens.Task, pulse *atomic.Uint64, counts []uint64) (n int,
		err error)
}

// Noted is a [Counter] that may have a note for the log: what its device lacks. An empty note says
// that it lacks nothing.
type Noted interface{ Note() string }

// CountTasks counts tasks. A [BatchCounter] counts all tasks at once; then the Elapsed of each task
// is an equal part of the time. Any other counter counts one task after the other. If the counter
// returns an error, CountTasks returns it with the counts of the tasks that were counted before. It
// does not set the field Kernel of the counts.
func CountTasks(
	ctx context.Context, c Counter, tasks []queens.Task, pulse *atomic.Uint64,
) ([]queens.TaskCount, error) {
	counted := make([]queens.TaskCount, 0, len(tasks))
	batch, ok := c.(BatchCounter)
	if !ok {
		for i := range tasks {
			start := time.Now()
			n, err := c.Count(ctx, &tasks[i].Board, tasks[i].Prefixes, pulse)
			if err != nil {
				return counted, err
			}
			pulse.Add(1) // the search of a small task may end before it increments the pulse
			counted = append(counted, queens.TaskCount{Count: n, Elapsed: time.Since(start)})
		}
		return counted, nil
	}
	counts, start := make([]uint64, len(tasks)), time.Now()
	n, err := batch.CountTasks(ctx, tasks, pulse, counts)
	if err == nil && n != len(tasks) {
		return nil, fmt.Errorf("%d of %d tasks have no count", len(tasks)-n, len(tasks))
	}
	each := time.Since(start) / time.Duration(max(1, len(tasks)))
	for _, count := range counts[:n] {
		counted = append(counted, queens.TaskCount{Count: count, Elapsed: each})
	}
	return counted, err
}
