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
// order, one call at a time. It takes a few tasks per thread ahead, or as many as the kernel counts at
// once. It returns when all
// are counted and all counters closed, or with the first error: of done, of the kernel (see
// [kernel.Kernel.WithCounter]), or the cause of ctx's end.
func Each(ctx context.Context, k kernel.Kernel, threads int, tasks iter.Seq[queens.Task], done func(Counted) error) error {
	work := make(chan Counted, threads*max(1, k.AtOnce))
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
				b := batch{work: work, most: max(1, k.AtOnce)}
				for b.next() {
					if err := b.count(ctx, counter); err != nil {
						return err
					}
					select {
					case turn <- struct{}{}:
					case <-ctx.Done():
						return context.Cause(ctx)
					}
					for _, c := range b.tasks {
						if err := done(c); err != nil {
							return err // without passing on the turn: done is not called again
						}
					}
					<-turn
				}
				return nil
			})
		})
	}
	return group.Wait()
}

// batch is the tasks of one board that a counter counts at once: one, unless it is a device.
type batch struct {
	work  <-chan Counted
	most  int // tasks
	tasks []Counted
	ahead *Counted // of another board
	pulse atomic.Uint64
}

// next waits for a task, and takes those behind it that are there and of the same board. It returns
// false if there is none any more.
func (b *batch) next() bool {
	b.tasks = b.tasks[:0]
	if b.ahead != nil {
		b.tasks, b.ahead = append(b.tasks, *b.ahead), nil
	} else if c, ok := <-b.work; ok {
		b.tasks = append(b.tasks, c)
	}
	for len(b.tasks) > 0 && len(b.tasks) < b.most {
		select {
		case c, ok := <-b.work:
			if !ok {
				return true
			}
			if c.Task.Board != b.tasks[0].Task.Board {
				b.ahead = &c
				return true
			}
			b.tasks = append(b.tasks, c)
		default:
			return true
		}
	}
	return len(b.tasks) > 0
}

// count counts the tasks. Of several, each has the same part of the time.
func (b *batch) count(ctx context.Context, counter kernel.Counter) error {
	prefixes := make([][]queens.Prefix, len(b.tasks))
	for i := range b.tasks {
		prefixes[i] = b.tasks[i].Task.Prefixes
	}
	start := time.Now()
	err := kernel.CountTasks(ctx, counter, &b.tasks[0].Task.Board, prefixes, &b.pulse, func(task int, count uint64) {
		b.tasks[task].Count, b.tasks[task].Kernel = count, counter.LastKernel()
	})
	for i := range b.tasks {
		b.tasks[i].Elapsed = time.Since(start) / time.Duration(len(b.tasks))
	}
	return err
}
