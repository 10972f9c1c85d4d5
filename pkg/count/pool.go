package count

import (
	"context"
	"iter"
	"sync/atomic"

	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
)

// Each counts tasks with the given kernels on the given number of threads, at least 1. It calls the
// function done with the key and the count of each task, in the order of the tasks, one call at a
// time. It holds a few tasks per thread, or a few batches per thread if the kernel counts many
// tasks at once. It increments pulse while a search advances. When all tasks are counted, or after
// the first error, it closes all counters and returns. The error comes from done or the kernel (see
// [kernel.Kernel.WithCounter]), or is context.Cause(ctx).
func Each[Key any](
	ctx context.Context, by Kernels, threads int, pulse *atomic.Uint64,
	tasks iter.Seq2[Key, queens.Task], done func(Key, queens.TaskCount) error,
) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	searchers := make(chan *Searcher, threads) // those that no thread uses now
	return withSearchers(&by, threads, searchers, func() error {
		return parallel.InOrderOn(ctx, threads, batches(&by, tasks),
			func(ctx context.Context, b batch[Key]) (batch[Key], error) {
				s := <-searchers
				defer func() { searchers <- s }()
				var err error
				if b.counts, err = s.Count(ctx, b.tasks, pulse); err != nil {
					stop(err) // ends the other searches
				}
				return b, err
			}, func(b batch[Key]) error {
				for i, c := range b.counts {
					if err := done(b.keys[i], c); err != nil {
						return err
					}
				}
				return nil
			})
	})
}

// withSearchers makes n searchers, sends them to the channel, calls the function use, and frees
// what they hold.
func withSearchers(by *Kernels, n int, searchers chan *Searcher, use func() error) error {
	if n == 0 {
		return use()
	}
	return by.WithSearcher(func(s *Searcher) error {
		searchers <- s
		return withSearchers(by, n-1, searchers, use)
	})
}

// batch holds consecutive tasks of one method.
type batch[Key any] struct {
	keys   []Key
	tasks  []queens.Task
	counts []queens.TaskCount
}

// fits reports whether a task can be in the batch.
func (b *batch[Key]) fits(t *queens.Task) bool {
	return len(b.tasks) == 0 || b.tasks[0].Method() == t.Method()
}

// batches yields batches of tasks. A batch has at most as many tasks as the kernel counts at once.
func batches[Key any](by *Kernels, tasks iter.Seq2[Key, queens.Task]) iter.Seq[batch[Key]] {
	return func(yield func(batch[Key]) bool) {
		var b batch[Key]
		flush := func() (more bool) {
			more = len(b.keys) == 0 || yield(b)
			b = batch[Key]{}
			return more
		}
		for key, task := range tasks {
			if !b.fits(&task) && !flush() {
				return
			}
			b.keys, b.tasks = append(b.keys, key), append(b.tasks, task)
			full := task.Method() == queens.Halves || len(b.keys) >= by.Prefixes.AtOnce
			if full && !flush() {
				return
			}
		}
		flush()
	}
}
