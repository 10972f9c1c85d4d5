package count

import (
	"context"
	"iter"
	"sync/atomic"

	"nqueens/pkg/kernel"
	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
)

// Each counts tasks with kernel k on the given number of threads, at least 1. It calls the function done with the key and the
// count of each task, in the order of the tasks, one call at a time. It holds a few tasks per thread, or a few batches per
// thread if the kernel counts many tasks at once. It increments pulse while a search advances. When all tasks are counted, or
// after the first error, it closes all counters and returns. The error comes from done or the kernel (see
// [kernel.Kernel.WithCounter]), or is context.Cause(ctx).
func Each[Key any](
	ctx context.Context, k kernel.Kernel, threads int, pulse *atomic.Uint64,
	tasks iter.Seq2[Key, queens.Task], done func(Key, queens.TaskCount) error,
) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	counters := make(chan kernel.Counter, threads) // counters that no thread uses now
	return withCounters(k, threads, counters, func() error {
		return parallel.InOrderOn(ctx, threads, batches(k, tasks), func(ctx context.Context, b batch[Key]) (batch[Key], error) {
			c := <-counters
			defer func() { counters <- c }()
			var err error
			if b.counts, err = kernel.CountTasks(ctx, c, b.tasks, pulse); err != nil {
				stop(err) // ends the other searches
			}
			return b, err
		}, func(b batch[Key]) error {
			for i, c := range b.counts {
				c.Kernel = k.Name
				if err := done(b.keys[i], c); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// withCounters makes n counters, sends them to the channel, calls the function use, and closes them.
func withCounters(k kernel.Kernel, n int, counters chan kernel.Counter, use func() error) error {
	if n == 0 {
		return use()
	}
	return k.WithCounter(func(c kernel.Counter) error {
		counters <- c
		return withCounters(k, n-1, counters, use)
	})
}

// batch holds consecutive tasks.
type batch[Key any] struct {
	keys   []Key
	tasks  []queens.Task
	counts []queens.TaskCount
}

// batches yields batches of tasks. A batch has at most as many tasks as the kernel counts at once.
func batches[Key any](k kernel.Kernel, tasks iter.Seq2[Key, queens.Task]) iter.Seq[batch[Key]] {
	return func(yield func(batch[Key]) bool) {
		var b batch[Key]
		for key, task := range tasks {
			b.keys, b.tasks = append(b.keys, key), append(b.tasks, task)
			if len(b.keys) >= k.AtOnce {
				if !yield(b) {
					return
				}
				b = batch[Key]{}
			}
		}
		if len(b.keys) > 0 {
			yield(b)
		}
	}
}
