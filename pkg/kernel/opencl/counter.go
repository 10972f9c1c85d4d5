//go:build opencl && linux

package opencl

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl/internal/cl"
	"nqueens/pkg/queens"
)

const (
	// launchTime is how long a launch shall take. It is much longer than the pause between two
	// launches, and so short that a count is canceled in time even if other processes use the
	// device.
	launchTime = 10 * time.Millisecond
	// pollTime is the time between two checks whether a launch has ended. If the driver waited for
	// the end, it would keep a core busy.
	pollTime = 50 * time.Microsecond
	// A launch has one round while the host still has prefixes to send. Later launches have
	// manyRounds while rounds end early because lanes are idle, else fewRounds. If the queue is
	// empty before a round, states of busy lanes move to it.
	fewRounds, manyRounds = 2, 8
	// A round has firstBudget to maxBudget steps of each lane, unless it ends early; see search.cl.
	firstBudget = 256
	maxBudget   = 1 << 24
	// maxTasks is the greatest number of tasks of a search. CountTasks divides more tasks into
	// several searches.
	maxTasks = 1 << 12
)

// Indices of the words of control, as in search.cl. Each round has its own words.
const (
	next = iota
	size
	busy
	most
	controlWords
)

// counter uses a device to count. It has memory of its own on the device.
type counter struct {
	settings
	feed
	driver[counter]
	context *cl.Context
	kernels struct{ begin, search, spill cl.Kernel }
	buffers struct{ queue, places, control, saved, lanes, counts, rows cl.Buffer }

	budget   uint32               // steps of each lane in all rounds of the next launch
	early    bool                 // a round of the last launch ended early; true at first
	expected time.Duration        // how long the next launch will take
	now      [controlWords]uint32 // the words of control after the last round
	control  [(manyRounds + 1) * controlWords]uint32
	unit     unit
	local    int    // bytes of local memory that a work-group may use
	bounds   bounds // of the problems of the search
	active   int    // lanes that take part in the search
	nodes    []node // the states that go to the queue next
	places   []place
	loaded   int      // how many nodes are filled
	counts   []uint32 // two words for each task
	totals   []uint64 // a count for each task
	uploaded int      // rows of problems on the device
	room     uint64   // steps of the lanes in all launches so far if no lane had been idle
	one      [1]queens.Task

	title string // name of the kernel and its device, printable
	note  string // see Note
	lost  error  // not nil after a failure of the device
}

// Note says that the device has too little memory for the lanes that keep it busy. It is empty if
// the device has enough.
func (c *counter) Note() string { return c.note }

func (c *counter) Count(
	ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64,
) (uint64, error) {
	c.one[0] = queens.Task{Board: *b, Prefixes: prefixes}
	if _, err := c.count(ctx, c.one[:], pulse); err != nil {
		return 0, err
	}
	return c.totals[0], nil
}

// Close releases everything.
func (c *counter) Close() error {
	return c.end(c.title, func(c *counter) error { return c.context.Close() })
}

func (c *counter) CountTasks(
	ctx context.Context, tasks []queens.Task, pulse *atomic.Uint64, counts []uint64,
) (n int, err error) {
	for n < len(tasks) {
		counted, err := c.count(ctx, tasks[n:], pulse)
		if err != nil {
			return n, err
		}
		n += copy(counts[n:], c.totals[:counted])
	}
	if ctx.Err() != nil {
		return n, context.Cause(ctx)
	}
	return n, nil
}

// count sets the totals of the first of the tasks, as many as one search may have, and returns
// their number.
func (c *counter) count(
	ctx context.Context, tasks []queens.Task, pulse *atomic.Uint64,
) (counted int, err error) {
	if c.lost != nil {
		return 0, c.lost
	}
	part := c.part(tasks)
	c.start(part, c.totals[:len(part)])
	c.uploaded = 0
	if err := c.run(ctx, pulse); err != nil {
		c.lost = fmt.Errorf("%w: %s: %w", kernel.ErrDeviceLost, c.title, err)
		return 0, c.lost
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return len(part), nil
}

// part returns the first of the tasks, as many as one search may have, and sets the bounds of this
// search: at most maxTasks, and so few problems that their rows leave local memory for the states.
// A single task may have more rows.
func (c *counter) part(tasks []queens.Task) []queens.Task {
	c.bounds.reset()
	for i := range tasks[:min(len(tasks), maxTasks)] {
		before := c.bounds.sizes
		c.bounds.add(&tasks[i])
		if c.bounds.rows > commonRows && i > 0 {
			c.bounds.sizes = before
			return tasks[:i]
		}
	}
	return tasks[:min(len(tasks), maxTasks)]
}

// run searches until no state is left, or the context ends. Its errors are failures of the device.
func (c *counter) run(ctx context.Context, pulse *atomic.Uint64) error {
	if err := c.do(ctx, (*counter).begin); err != nil {
		return err
	}
	for ; ctx.Err() == nil; pulse.Add(1) {
		if c.now[next] >= c.now[size] { // no state in the queue
			c.loaded = c.fill(ctx, c.nodes, c.places)
			switch {
			case c.loaded > 0:
				if err := c.do(ctx, (*counter).upload); err != nil {
					return err
				}
			case ctx.Err() != nil:
				return nil
			case c.now[busy] == 0:
				return c.do(ctx, (*counter).addCounts)
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
	c.now, c.early = [controlWords]uint32{}, true
	c.active = c.resident(c.bounds.sizes)
	c.context.SetWord(c.kernels.begin, 2, uint32(len(c.tasks)))
	c.context.Enqueue(c.kernels.begin, c.lanes, c.group)
	return c.context.Err()
}

// upload writes the next states to the queue, which is empty.
func (c *counter) upload() error {
	n := c.loaded
	if c.uploaded < c.filled {
		cl.Write(c.context, c.buffers.rows, c.rows[:c.filled])
		c.uploaded = c.filled
	}
	c.now[next], c.now[size] = 0, uint32(n/c.together)
	cl.Write(c.context, c.buffers.queue, c.nodes[:n])
	cl.Write(c.context, c.buffers.places, c.places[:n/c.together])
	return c.context.Err()
}

// launch runs a launch, which takes about launchTime. While prefixes are still to come, it has only
// one round, so that the host can fill the queue after it.
func (c *counter) launch() error {
	last := fewRounds
	switch {
	case !c.ended():
		last = 1
	case c.early:
		last = manyRounds
	}
	budget := min(max(c.budget/uint32(last), c.minBudget), c.maxBudget)
	clear(c.control[:])
	copy(c.control[:], c.now[:])
	x, search, spill := c.context, c.kernels.search, c.kernels.spill
	group := c.fittingGroup(c.bounds.sizes)
	cl.Write(x, c.buffers.control, c.control[:])
	if c.warps {
		x.SetWord(search, 7, uint32(c.inside))
	} else {
		x.SetWord(search, 7, uint32(c.filled))
	}
	x.SetLocal(search, 8, c.localRows(c.bounds.sizes))
	x.SetLocal(search, 9, c.localStates(c.bounds.sizes, group))
	x.SetWord(search, 10, budget)
	began := time.Now()
	for r := 1; r <= last; r++ {
		x.SetWord(spill, 5, uint32(r-1))
		x.Enqueue(spill, c.active, group)
		x.SetWord(search, 11, uint32(r))
		if r < last {
			x.Enqueue(search, c.active, group)
		}
	}
	x.Start(search, c.active, group)
	await(x, c.expected)
	took := time.Since(began)
	cl.Read(x, c.control[:], c.buffers.control)
	if x.Err() != nil {
		return x.Err()
	}
	steps, err := c.check(last, budget)
	if err != nil {
		return err
	}
	copy(c.now[:], c.control[last*controlWords:])
	c.room += steps * uint64(c.active)
	c.early = steps < uint64(last)*uint64(budget)
	c.adapt(took, steps)
	return nil
}

// check returns how many steps the rounds of a launch took. It returns an error if the device's
// words of control are impossible.
func (c *counter) check(last int, budget uint32) (steps uint64, err error) {
	for r := 1; r <= last; r++ {
		w := c.control[r*controlWords:][:controlWords]
		room, takers := statesOfLane*c.lanes/c.together, c.active/c.together
		if int(w[size]) > room || int(w[next]) > int(w[size])+takers ||
			r == 1 && c.now[next] < c.now[size] && (w[size] != c.now[size] || w[next] < c.now[next]) {
			return 0, fmt.Errorf("%d of %d places of the queue are taken, %d of %d before: %w",
				w[next], w[size], c.now[next], c.now[size], kernel.ErrBroken)
		}
		if w[most] > budget {
			return 0, fmt.Errorf("a lane took %d steps in a round of at most %d: %w",
				w[most], budget, kernel.ErrBroken)
		}
		steps += uint64(w[most])
	}
	if steps == 0 {
		return 0, fmt.Errorf("no lane took a step although there are states left: %w", kernel.ErrBroken)
	}
	return steps, nil
}

// sleep is like time.Sleep, but more exact: time.Sleep takes at least a millisecond if no other
// goroutine runs.
func sleep(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // the caller looks again anyway
}

// adapt sets the budget and the expected time of the next launch. took is how long the last launch
// took, and steps is how many steps its busiest lanes took. After a launch that ended early, the
// budget can only shrink.
func (c *counter) adapt(took time.Duration, steps uint64) {
	c.expected = min(took, launchTime)
	if c.early && took <= launchTime {
		return
	}
	budget := float64(launchTime) / float64(max(took, 1)) * float64(steps)
	c.budget = uint32(min(max(budget, float64(c.minBudget)), 2*float64(c.budget),
		fewRounds*float64(c.maxBudget)))
}

// addCounts adds the counts of the device to the totals.
func (c *counter) addCounts() error {
	cl.Read(c.context, c.counts[:2*len(c.tasks)], c.buffers.counts)
	for i := range c.tasks {
		c.totals[i] += uint64(c.counts[2*i]) | uint64(c.counts[2*i+1])<<32
	}
	return c.context.Err()
}
