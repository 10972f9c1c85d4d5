package count

import (
	"context"
	"iter"
	"sync/atomic"

	"nqueens/pkg/kernel"
	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
)

// Counted is a task that was counted.
type Counted struct {
	Index int // of the task in its sequence, from 0
	Task  *queens.Task
	queens.TaskCount
}

// Each counts tasks with kernel k on that many threads, and calls done with each, in the order of the
// tasks, one call at a time. It holds a few tasks per thread, or a few times as many as the kernel
// counts at once. It returns when all are counted and all counters closed, or with the first error: of done,
// of the kernel (see [kernel.Kernel.WithCounter]), or the cause of ctx's end.
func Each(ctx context.Context, k kernel.Kernel, threads int, tasks iter.Seq[queens.Task], done func(Counted) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	counters := make(chan kernel.Counter, threads) // those that no thread uses
	return withCounters(k, threads, counters, func() error {
		return parallel.InOrderOn(ctx, threads, batches(k, tasks), func(ctx context.Context, batch []Counted) ([]Counted, error) {
			c := <-counters
			defer func() { counters <- c }()
			err := countBatch(ctx, k.Name, c, batch)
			if err != nil {
				stop(err) // ends the other searches
			}
			return batch, err
		}, func(batch []Counted) error {
			for _, c := range batch {
				if err := done(c); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// withCounters calls use when n counters are in the channel, and closes them afterwards.
func withCounters(k kernel.Kernel, n int, counters chan kernel.Counter, use func() error) error {
	if n == 0 {
		return use()
	}
	return k.WithCounter(func(c kernel.Counter) error {
		counters <- c
		return withCounters(k, n-1, counters, use)
	})
}

// batches yields batches of tasks of one board, as many as the kernel counts at once.
func batches(k kernel.Kernel, tasks iter.Seq[queens.Task]) iter.Seq[[]Counted] {
	return func(yield func([]Counted) bool) {
		next := 0
		var batch []Counted
		flush := func() (wanted bool) {
			wanted = len(batch) == 0 || yield(batch)
			batch = nil
			return wanted
		}
		for task := range tasks {
			if len(batch) > 0 && batch[0].Task.Board != task.Board && !flush() {
				return
			}
			batch = append(batch, Counted{Index: next, Task: &task})
			if next++; len(batch) >= k.AtOnce && !flush() {
				return
			}
		}
		flush()
	}
}

// countBatch counts tasks of one board by a kernel of that name.
func countBatch(ctx context.Context, name string, counter kernel.Counter, batch []Counted) error {
	prefixes := make([][]queens.Prefix, len(batch))
	for i := range batch {
		prefixes[i] = batch[i].Task.Prefixes
	}
	counts, err := kernel.CountTasks(ctx, counter, &batch[0].Task.Board, prefixes, new(atomic.Uint64))
	for i, c := range counts {
		batch[i].TaskCount, batch[i].Kernel = c, name
	}
	return err
}
