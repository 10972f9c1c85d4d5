//go:build opencl && linux

package opencl

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A device or its driver may hang, and nothing can end a call of a driver that does. So all calls after the
// setup are made on a goroutine of their own, one step at a time, and a step that does not end in time is left
// to it. A step uses only what belongs to the counter: no memory of the caller of Count.

// step is what a counter does with its device between two looks at the context. It ends after about launchTime.
type step func(*counter) error

// How long a step may take, in ticks: a process that was stopped and continues loses one tick of them, and
// not its device.
const (
	tickTime = time.Second
	// stepTicks bounds any step. A driver may compile its code again in the first one.
	stepTicks = 30
	// cancelTicks bounds a step from the moment when its context ends.
	cancelTicks = 5
)

// errSilent says that a step has not ended in time.
var errSilent = errors.New("it does not answer: it hangs, or its driver does")

// driver is the goroutine that makes the calls of a counter.
type driver struct {
	steps  chan step
	ends   chan error // of each step, in order
	timer  *time.Timer
	silent bool // a step has not ended in time, and may never do
}

// startDriver starts the goroutine, which Close ends.
func (c *counter) startDriver() {
	// After a step that did not end in time comes one more at most, the last one. Nobody waits for these two.
	c.driver = driver{steps: make(chan step, 2), ends: make(chan error, 2), timer: time.NewTimer(time.Hour)}
	go func() {
		for s := range c.steps {
			c.ends <- s(c)
		}
	}()
}

// do takes a step and returns its error, or errSilent: at once if an earlier step has not ended in time.
func (c *counter) do(ctx context.Context, s step) error {
	c.steps <- s
	cancelled := ctx.Done()
	for left := stepTicks; left > 0 && !c.silent; {
		c.timer.Reset(c.tick)
		select {
		case err := <-c.ends:
			return err
		case <-cancelled:
			cancelled, left = nil, min(left, cancelTicks)
		case <-c.timer.C:
			left--
		}
	}
	c.silent = true
	return errSilent
}

// Close releases everything. A device that does not answer keeps it until it does, or the process ends.
func (c *counter) Close() error {
	defer close(c.steps)
	defer c.timer.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := c.do(ctx, func(c *counter) error { return c.context.Close() })
	if c.silent {
		return fmt.Errorf("%s: %w: its memory is freed when it answers, or this process ends", c.title, err)
	}
	return err
}
