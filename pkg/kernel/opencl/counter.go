//go:build opencl && linux

package opencl

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl/internal/cl"
	"nqueens/pkg/queens"
)

const (
	// launchTime is how long a launch is meant to take: long beside the time between two launches, and
	// short enough to cancel in time although other processes may use the device.
	launchTime = 5 * time.Millisecond
	// pollTime is the time between two looks whether a launch has ended. A wait of the driver would use
	// a core.
	pollTime = 50 * time.Microsecond
	// A launch has firstBudget steps a lane at first, and maxBudget at most; see search.cl.
	firstBudget = 256
	maxBudget   = 1 << 24
	// maxTasks is the greatest number of tasks of a search. CountTasks divides more into several.
	maxTasks = 1 << 12
)

// Words of control, as in search.cl.
const (
	next = iota
	size
	busy
	most
	controlWords
)

// counter counts on a device. Its memory on the device is its own.
type counter struct {
	settings
	feed
	driver
	context *cl.Context
	kernels struct{ begin, search, spill *cl.Kernel }
	buffers struct{ queue, places, control, saved, lanes, counts, rows cl.Buffer }

	budget   uint32        // steps a lane of the next launch
	expected time.Duration // of the next launch
	control  [controlWords]uint32
	nodes    []node // what goes to the queue next
	places   []place
	filled   int      // of them
	counts   []uint32 // two words a task
	totals   []uint64 // a count a task
	uploaded int      // problems on the device
	room     uint64   // the steps of all launches, if no lane had been idle
	one      [1][]queens.Prefix

	title string // name of the kernel and its device
	last  string
	lost  error // not nil after a failure of the device
}

func (c *counter) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	c.one[0] = prefixes
	if err := c.count(ctx, b, c.one[:], pulse); err != nil {
		return 0, err
	}
	return c.totals[0], nil
}

func (c *counter) CountTasks(ctx context.Context, b *queens.Board, tasks [][]queens.Prefix, pulse *atomic.Uint64, counts []uint64) (n int, err error) {
	for n < len(tasks) {
		part := tasks[n:min(n+maxTasks, len(tasks))]
		if err := c.count(ctx, b, part, pulse); err != nil {
			return n, err
		}
		n += copy(counts[n:], c.totals[:len(part)])
	}
	if ctx.Err() != nil {
		return n, context.Cause(ctx)
	}
	return n, nil
}

func (c *counter) LastKernel() string { return c.last }

func (c *counter) Close() error { return c.endDriver() }

// count sets the totals of the tasks.
func (c *counter) count(ctx context.Context, b *queens.Board, tasks [][]queens.Prefix, pulse *atomic.Uint64) error {
	if c.lost != nil {
		return c.lost
	}
	c.start(b, tasks, c.totals[:len(tasks)])
	c.uploaded = 0
	if err := c.run(ctx, pulse); err != nil {
		c.lost = fmt.Errorf("%w: %s: %w", kernel.ErrDeviceLost, c.title, err)
		return c.lost
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.last = c.title
	return nil
}

// run searches until no state is left, or the context ends. An error is one of the device.
func (c *counter) run(ctx context.Context, pulse *atomic.Uint64) error {
	if err := c.do(ctx, (*counter).begin); err != nil {
		return err
	}
	for ; ctx.Err() == nil; pulse.Add(1) {
		if c.control[next] >= c.control[size] { // no state in the queue
			c.filled = c.fill(ctx, c.nodes, c.places)
			var err error
			switch {
			case c.filled > 0:
				err = c.do(ctx, (*counter).upload)
			case ctx.Err() != nil:
				return nil
			case c.control[busy] == 0:
				return c.do(ctx, (*counter).addCounts)
			default:
				err = c.do(ctx, (*counter).respill)
			}
			if err != nil {
				return err
			}
		}
		if err := c.do(ctx, (*counter).launch); err != nil {
			return err
		}
	}
	return nil
}

// begin prepares the device for the tasks.
func (c *counter) begin() error {
	c.control = [controlWords]uint32{}
	return errors.Join(c.kernels.begin.SetWord(2, uint32(len(c.tasks))), c.kernels.begin.Enqueue(c.lanes, c.group))
}

// upload writes the next states to the queue, which is empty.
func (c *counter) upload() error {
	n := c.filled
	if c.uploaded < c.problems {
		if err := cl.Write(c.context, &c.buffers.rows, c.rows[:c.problems*slots]); err != nil {
			return err
		}
		c.uploaded = c.problems
	}
	c.control[next], c.control[size] = 0, uint32(n)
	return errors.Join(
		cl.Write(c.context, &c.buffers.queue, c.nodes[:n]),
		cl.Write(c.context, &c.buffers.places, c.places[:n]))
}

// respill moves the states of all lanes to the queue, which is empty.
func (c *counter) respill() error {
	c.control = [controlWords]uint32{}
	if err := cl.Write(c.context, &c.buffers.control, c.control[:]); err != nil {
		return err
	}
	if err := c.kernels.spill.Enqueue(c.lanes, c.group); err != nil {
		return err
	}
	if err := cl.Read(c.context, c.control[:], &c.buffers.control); err != nil {
		return err
	}
	if n := int(c.control[size]); n == 0 || n > c.capacity {
		return fmt.Errorf("%d states in a queue of %d: the device computes wrongly", n, c.capacity)
	}
	return nil
}

// launch searches for about launchTime.
func (c *counter) launch() error {
	c.control[busy], c.control[most] = 0, 0
	states, before := c.control[size], c.control[next]
	search := c.kernels.search
	if err := errors.Join(
		cl.Write(c.context, &c.buffers.control, c.control[:]),
		search.SetWord(7, uint32(c.problems)),
		search.SetLocal(8, localRows(c.problems)),
		search.SetLocal(9, localStacks(c.first, c.group)),
		search.SetWord(10, c.budget),
	); err != nil {
		return err
	}
	began := time.Now()
	if err := search.Start(c.lanes, c.group); err != nil {
		return err
	}
	for pause := c.expected * 3 / 4; ; pause = pollTime {
		sleep(pause)
		if done, err := search.Done(); err != nil {
			return err
		} else if done {
			break
		}
	}
	took := time.Since(began)
	if err := cl.Read(c.context, c.control[:], &c.buffers.control); err != nil {
		return err
	}
	if c.control[size] != states || c.control[next] < before || int(c.control[next]) > int(states)+c.lanes {
		return fmt.Errorf("%d of %d states of the queue are taken, %d before: the device computes wrongly", c.control[next], states, before)
	}
	if c.control[most] == 0 || c.control[most] > c.budget {
		return fmt.Errorf("%d steps of a lane in a launch of %d: the device computes wrongly", c.control[most], c.budget)
	}
	c.room += uint64(c.control[most]) * uint64(c.lanes)
	c.adapt(took, c.control[most] < c.budget)
	return nil
}

// sleep is time.Sleep, which takes at least a millisecond if no other goroutine runs.
func sleep(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // the caller looks again anyway
}

// adapt sets the budget of the next launch. A launch that ended early tells only that a budget is too large.
func (c *counter) adapt(took time.Duration, early bool) {
	took = max(took, 1)
	c.expected = min(took, launchTime)
	if early && took <= launchTime {
		return
	}
	factor := min(float64(launchTime)/float64(took), 2)
	c.budget = uint32(min(max(float64(c.budget)*factor, float64(c.minBudget)), float64(c.maxBudget)))
	c.expected = min(time.Duration(float64(took)*factor), launchTime)
}

// addCounts adds what the device has found to the totals.
func (c *counter) addCounts() error {
	err := cl.Read(c.context, c.counts[:2*len(c.tasks)], &c.buffers.counts)
	for i := 0; i < len(c.tasks) && err == nil; i++ {
		c.totals[i] += uint64(c.counts[2*i]) | uint64(c.counts[2*i+1])<<32
	}
	return err
}
