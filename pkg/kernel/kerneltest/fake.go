package kerneltest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// This file is for tests of code that uses kernels. NewCounter returns a counter that is closed
// when the test ends. A Fake counts what the test says, and fails the test if its counters are
// misused.

// NewCounter returns a counter of the kernel. It fails the test if New fails. The counter is closed
// when the test ends.
func NewCounter(t testing.TB, k kernel.Kernel) kernel.Counter {
	t.Helper()
	c, err := k.New()
	if err != nil {
		t.Fatalf("kernel %s: %v", k.Name, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close kernel %s: %v", k.Name, err)
		}
	})
	return c
}

// Fake describes a kernel with the name fake.
type Fake struct {
	// Count is the method of kernel.Counter. Several counters may call it at once.
	Count func(ctx context.Context, b *queens.Board, prefixes []queens.Prefix,
		pulse *atomic.Uint64) (uint64, error)
	// CountTasks is the method of kernel.BatchCounter. If it is nil, the counters are no
	// BatchCounters.
	CountTasks func(ctx context.Context, tasks []queens.Task, pulse *atomic.Uint64,
		counts []uint64) (n int, err error)
	// If New is not nil, the kernel's New calls it first, and returns its error.
	New func() error
	// CloseError is the error of every Close.
	CloseError error

	Made, Open atomic.Int64 // counters made so far, and those that are not closed
}

// Kernel returns the kernel. The test fails if a counter is used by two threads at once or after
// Close, or is not closed exactly once before the test ends.
func (f *Fake) Kernel(t testing.TB) kernel.Kernel {
	t.Cleanup(func() {
		if open := f.Open.Load(); open != 0 {
			t.Errorf("%d of %d counters are not closed", open, f.Made.Load())
		}
	})
	k := kernel.Kernel{Name: "fake"}
	if f.CountTasks != nil {
		k.AtOnce = 1 << 10
	}
	k.New = func() (kernel.Counter, error) {
		if f.New != nil {
			if err := f.New(); err != nil {
				return nil, err
			}
		}
		f.Made.Add(1)
		f.Open.Add(1)
		c := &fakeCounter{t: t, fake: f}
		if f.CountTasks != nil {
			return &fakeBatchCounter{c}, nil
		}
		return c, nil
	}
	return k
}

// fakeBatchCounter is a kernel.BatchCounter.
type fakeBatchCounter struct{ *fakeCounter }

func (c *fakeBatchCounter) CountTasks(
	ctx context.Context, tasks []queens.Task, pulse *atomic.Uint64, counts []uint64,
) (n int, err error) {
	err = c.use(func() error {
		n, err = c.fake.CountTasks(ctx, tasks, pulse, counts)
		return err
	})
	return n, err
}

type fakeCounter struct {
	t    testing.TB
	fake *Fake
	busy atomic.Bool // in a Count, or closed
}

func (c *fakeCounter) Count(
	ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64,
) (uint64, error) {
	var n uint64
	err := c.use(func() (err error) {
		n, err = c.fake.Count(ctx, b, prefixes, pulse)
		return err
	})
	return n, err
}

// use calls the function count, unless the counter is in use or closed.
func (c *fakeCounter) use(count func() error) error {
	if !c.busy.CompareAndSwap(false, true) {
		err := errors.New("a counter is used by two threads at once, or is closed")
		c.t.Error(err)
		return err
	}
	defer c.busy.Store(false)
	return count()
}

func (c *fakeCounter) Close() error {
	if !c.busy.CompareAndSwap(false, true) {
		c.t.Error("a counter is closed during a Count, or twice")
		return nil
	}
	c.fake.Open.Add(-1)
	return c.fake.CloseError
}
