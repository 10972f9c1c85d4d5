//go:build opencl && linux

package opencl

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A device or its driver may hang, and a call of a driver that hangs can't be ended. So after the
// setup, a goroutine of the counter makes all calls, one step at a time. If a step does not end in
// time, the counter no longer waits for the goroutine. A step uses only memory of the counter, not
// of the caller of Count.

// step is what a counter does with its device between two polls of the context. It takes about
// launchTime.
type step func(*counter) error

// How long a step may take, in ticks. If the process is suspended and continues, the time between
// counts as one tick, so the counter does not give up its device.
const (
	tickTime = time.Second
	// stepTicks bounds any step. In the first step, a driver may compile its code again.
	stepTicks = 30
	// cancelTicks bounds a step from the moment when its context ends.
	cancelTicks = 5
)

// errSilent is the error of a step that has not ended in time.
var errSilent = errors.New("it does not answer: it hangs, or its driver does")

// driver is the goroutine that makes the calls of a counter.
type driver struct {
	steps  chan step
	ends   chan error // the error of each step, in order
	timer  *time.Timer
	silent bool // a step has not ended in time, and may never end
}

// startDriver starts the goroutine, which Close ends.
func (c *counter) startDriver() {
	// After a step that did not end in time, only Close sends one more. Nobody waits for the ends
	// of these two steps.
	c.driver = driver{steps: make(chan step, 2), ends: make(chan error, 2),
		timer: time.NewTimer(time.Hour)}
	go func() {
		for s := range c.steps {
			c.ends <- s(c)
		}
	}()
}

// do makes a step and returns its error. It returns errSilent if the step does not end in time, and
// at once if an earlier step did not.
func (c *counter) do(ctx context.Context, s step) error {
	c.steps <- s
	canceled := ctx.Done()
	for left := stepTicks; left > 0 && !c.silent; {
		c.timer.Reset(c.tick)
		select {
		case err := <-c.ends:
			return err
		case <-canceled:
			canceled, left = nil, min(left, cancelTicks)
		case <-c.timer.C:
			left--
		}
	}
	c.silent = true
	return errSilent
}

// Close releases everything. A device that does not answer keeps its memory until it answers or the
// process ends; the error says so.
func (c *counter) Close() error {
	defer close(c.steps)
	defer c.timer.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := c.do(ctx, func(c *counter) error { return c.context.Close() })
	if c.silent {
		return fmt.Errorf("%s: %w: its memory is freed when it answers or when this process ends",
			c.title, err)
	}
	return err
}
