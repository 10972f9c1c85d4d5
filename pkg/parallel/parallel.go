// Package parallel divides work among threads and returns the results in the order of the work, so
// a sum or a hash of the results does not depend on the threads.
package parallel

import (
	"context"
	"iter"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// ahead is how many items for each thread may be started before the next result in order is there.
// It is more than 1, because items may differ in cost.
const ahead = 4

// InOrder is [InOrderOn] on GOMAXPROCS threads.
func InOrder[In, Out any](
	ctx context.Context, items iter.Seq[In], work func(context.Context, In) (Out, error),
	done func(Out) error,
) error {
	return InOrderOn(ctx, runtime.GOMAXPROCS(0), items, work, done)
}

// InOrderOn calls the function work with each item, on the given number of threads. It calls the
// function done with the results in the order of the items, one call at a time. However long the
// sequence is, InOrderOn holds only a few items for each thread, and at most one item on which no
// thread works yet. The sequence runs in its own goroutine. InOrderOn returns when all goroutines
// have ended. The error is that of the first item in order for which work or done fails, or
// context.Cause(ctx).
func InOrderOn[In, Out any](
	ctx context.Context, threads int, items iter.Seq[In], work func(context.Context, In) (Out, error),
	done func(Out) error,
) error {
	type result struct {
		out Out
		err error
	}
	type job struct {
		item   In
		result chan result
	}
	todo := make(chan job)
	order := make(chan chan result, ahead*threads)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(todo)
		defer close(order)
		for item := range items {
			j := job{item, make(chan result, 1)}
			if !send(ctx, order, j.result) || !send(ctx, todo, j) {
				return context.Cause(ctx)
			}
		}
		return nil
	})
	for range threads {
		group.Go(func() error {
			for j := range todo {
				out, err := work(ctx, j.item)
				j.result <- result{out, err}
			}
			return nil
		})
	}
	group.Go(func() error {
		for next := range order {
			select {
			case r := <-next:
				if r.err != nil {
					return r.err
				}
				if err := done(r.out); err != nil {
					return err
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return context.Cause(ctx) // ctx may have ended the sequence
	})
	return group.Wait()
}

// Map returns the results of all items, in the order of the items. It calls the function work on up
// to GOMAXPROCS threads.
func Map[In, Out any](items []In, work func(In) Out) []Out {
	results := make([]Out, len(items))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, item := range items {
		group.Go(func() error {
			results[i] = work(item)
			return nil
		})
	}
	_ = group.Wait() // no error
	return results
}

// send sends v unless ctx ends first, and reports whether it did.
func send[T any](ctx context.Context, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}
