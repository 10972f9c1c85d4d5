//go:build opencl && linux

package opencl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nqueens/pkg/kernel/opencl/internal/cl"
)

// A device or its driver may hang, and a call of a driver that hangs can't be ended. So after the
// setup, a goroutine makes all calls of a counter or a joiner, its owner, one step at a time. If a
// step does not end in time, the owner no longer waits for the goroutine. A step uses only memory
// of the owner, not of the caller of Count. The lists of a join stay when a Count has ended.

// step is what an owner does with its device between two polls of the context. It takes about
// launchTime.
type step[T any] func(owner *T) error

// How long a step may take, in ticks. If the process is suspended and continues, the time between
// counts as one tick, so the owner does not give up its device.
const (
	tickTime = time.Second
	// stepTicks bounds any step. In the first step, a driver may compile its code again.
	stepTicks = 30
	// cancelTicks bounds a step from the moment when its context ends.
	cancelTicks = 5
)

// errSilent is the error of a step that has not ended in time.
var errSilent = errors.New("it does not answer: it hangs, or its driver does")

// driver is the goroutine that makes the calls of an owner.
type driver[T any] struct {
	steps  chan step[T]
	ends   chan error // the error of each step, in order
	timer  *time.Timer
	tick   time.Duration // tickTime, except in tests
	silent bool          // a step has not ended in time, and may never end
}

// startDriver starts the goroutine of an owner, which end ends.
func startDriver[T any](owner *T) driver[T] {
	// After a step that did not end in time, only end sends one more. Nobody waits for the ends of
	// these two steps.
	d := driver[T]{steps: make(chan step[T], 2), ends: make(chan error, 2),
		timer: time.NewTimer(time.Hour), tick: tickTime}
	go func() {
		for s := range d.steps {
			d.ends <- s(owner)
		}
	}()
	return d
}

// do makes a step and returns its error. It returns errSilent if the step does not end in time, and
// at once if an earlier step did not.
func (d *driver[T]) do(ctx context.Context, s step[T]) error {
	d.steps <- s
	canceled := ctx.Done()
	for left := stepTicks; left > 0 && !d.silent; {
		d.timer.Reset(d.tick)
		select {
		case err := <-d.ends:
			return err
		case <-canceled:
			canceled, left = nil, min(left, cancelTicks)
		case <-d.timer.C:
			left--
		}
	}
	d.silent = true
	return errSilent
}

// end makes the last step, which releases everything. A device that does not answer keeps its
// memory until it answers or the process ends; the error says so.
func (d *driver[T]) end(title string, last step[T]) error {
	defer close(d.steps)
	defer d.timer.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := d.do(ctx, last)
	if d.silent {
		return fmt.Errorf("%s: %w: its memory is freed when it answers or when this process ends",
			title, err)
	}
	return err
}

// await waits until the kernel that was started last has ended. expected is how long that will
// take.
func await(x *cl.Context, expected time.Duration) {
	sleep(expected / 2)
	for !x.Done() {
		sleep(pollTime)
	}
}
