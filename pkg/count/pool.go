package count

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// Counted is a task that was counted.
type Counted struct {
	Index   int // of the task in its sequence, from 0
	Task    *queens.Task
	Count   uint64
	Elapsed time.Duration // of the search
	Kernel  string        // that ran; see [kernel.Counter]
}

// Each counts tasks with kernel k on that many threads, and calls done with each, in any
// order, one call at a time. It takes a few tasks per thread ahead. It returns when all
// are counted and all counters closed, or with the first error: of done, of the kernel (see
// [kernel.Kernel.WithCounter]), or the cause of ctx's end.
func Each(ctx context.Context, k kernel.Kernel, threads int, tasks iter.Seq[queens.Task], done func(Counted) error) error {
	work := make(chan Counted, threads)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(work)
		next := 0
		for task := range tasks {
			select {
			case work <- Counted{Index: next, Task: &task}:
				next++
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return context.Cause(ctx) // which may have ended the sequence
	})
	turn := make(chan struct{}, 1) // of the thread that calls done
	for range threads {
		group.Go(func() error {
			return k.WithCounter(func(counter kernel.Counter) error {
				var pulse atomic.Uint64
				for c := range work {
					start := time.Now()
					var err error
					if c.Count, err = counter.Count(ctx, &c.Task.Board, c.Task.Prefixes, &pulse); err != nil {
						return err
					}
					c.Elapsed, c.Kernel = time.Since(start), counter.LastKernel()
					select {
					case turn <- struct{}{}:
					case <-ctx.Done():
						return context.Cause(ctx)
					}
					if err := done(c); err != nil {
						return err // without passing on the turn: done is not called again
					}
					<-turn
				}
				return nil
			})
		})
	}
	return group.Wait()
}
