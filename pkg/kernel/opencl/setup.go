//go:build opencl && linux

package opencl

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"nqueens/pkg/kernel/opencl/internal/cl"
	"nqueens/pkg/queens"
)

//go:embed search.cl
var source string

// settings are the sizes of a counter, which are chosen for the device where they are 0. Tests set
// them to extremes.
type settings struct {
	name      string // of the kernel
	source    string
	lanes     int    // a multiple of group
	group     int    // lanes of a work-group
	capacity  int    // states that the queue has room for
	portion   int    // states that the host writes to the queue at once, at most capacity
	minBudget uint32 // steps a lane of a round
	maxBudget uint32
	tick      time.Duration // see tickTime
}

const (
	// lanesOfUnit is the number of lanes for each multiprocessor of a GPU, at most.
	lanesOfUnit = 768
	// localOfUnit is the local memory of a multiprocessor, in bytes, of NVIDIA's H100 and H200; OpenCL does not
	// tell. Work-groups for which it has no room would wait until others end.
	localOfUnit = 224 << 10
	// localOfGroup is what the driver takes of it for each work-group.
	localOfGroup = 1 << 10
	// lanesOfThread is the number of lanes for each thread of a CPU, which runs one at a time.
	lanesOfThread = 64
	// maxGroup is the size of a work-group if local memory has room for its stacks, which 48 KB have.
	maxGroup = 64
	// minPortion is worth the time of a launch.
	minPortion = 4096
	// maxLanes bounds the memory on the device to about 5 GB.
	maxLanes = 1 << 22
)

// statesOfLane is the number of states that a spill moves of each lane, at most.
const statesOfLane = slots / 2

// bytesOfLane is the memory on the device for each lane: the saved stack, its part of the queue, and what the
// lane keeps of itself.
const bytesOfLane = slots*int(unsafe.Sizeof(node{})) + statesOfLane*int(unsafe.Sizeof(node{})+unsafe.Sizeof(place{})) + sizeOfLane

// sizeOfLane is the size of Lane in search.cl.
const sizeOfLane = 12

// localRows and localStacks are the local memory of a work-group, in bytes: 24 for each row of a problem, and a
// stack with a state for each row and one below them for each lane.
func localRows(problems int) int { return problems * slots * 24 }
func localStacks(first, group int) int {
	return (slots - first + 1) * group * int(unsafe.Sizeof(node{}))
}

// newCounter returns a counter of the device, which has passed a check of all its lanes. If the device
// lacks memory, it has fewer lanes.
func newCounter(d cl.Device, s settings) (*counter, error) {
	if s.source == "" {
		s.source = source
	}
	if s.group == 0 {
		s.group = groupSize(d)
	}
	if s.lanes == 0 {
		s.lanes = laneCount(d, s.group)
	}
	for {
		c, err := tryCounter(d, s)
		var failure cl.Error
		if err == nil || !errors.As(err, &failure) || !failure.Status.IsMemory() {
			return c, err
		}
		if s.lanes <= s.group {
			return nil, fmt.Errorf("too little memory for %d lanes: %w", s.lanes, err)
		}
		s.lanes = max(s.lanes/2/s.group, 1) * s.group
	}
}

// groupSize returns the size of work-groups whose stacks fit into the local memory on any board.
func groupSize(d cl.Device) int {
	return fittingGroup(int(min(maxGroup, d.GroupSize)), int(min(d.LocalMemory, 1<<30)), 0, 1)
}

// fittingGroup returns the size of work-groups whose rows and stacks fit into the local memory: a part of a
// given size.
func fittingGroup(group, local, first, problems int) int {
	for group > 1 && localRows(problems)+localStacks(first, group) > local {
		group /= 2
	}
	return group
}

// laneCount returns the number of lanes that keep the device busy, of which its memory takes as many.
func laneCount(d cl.Device, group int) int {
	each := lanesOfUnit
	if d.IsCPU {
		each = lanesOfThread
	}
	lanes := min(uint64(max(d.Units, 1))*uint64(each), maxLanes)
	lanes = min(lanes, d.Memory/2/uint64(bytesOfLane), d.LargestBuffer/(slots*uint64(unsafe.Sizeof(node{}))))
	return max(int(lanes)/group, 1) * group
}

// resident returns how many lanes take part in a search: those that the device runs at a time.
func (c *counter) resident(first, problems int) int {
	if c.units == 0 {
		return c.lanes
	}
	groups := localOfUnit / (localRows(problems) + localStacks(first, c.group) + localOfGroup)
	return min(c.lanes, c.units*max(groups, 1)*c.group)
}

// tryCounter is newCounter with a given number of lanes.
func tryCounter(d cl.Device, s settings) (_ *counter, err error) {
	if s.capacity == 0 {
		s.capacity = statesOfLane * s.lanes
	}
	if s.portion == 0 {
		s.portion = min(s.capacity, max(2*s.lanes, minPortion))
	}
	if s.maxBudget == 0 {
		s.minBudget, s.maxBudget = firstBudget, maxBudget
	}
	if s.tick == 0 {
		s.tick = tickTime
	}
	c := &counter{
		settings: s,
		budget:   s.minBudget,
		nodes:    make([]node, s.portion),
		places:   make([]place, s.portion),
		counts:   make([]uint32, 2*maxTasks),
		totals:   make([]uint64, maxTasks),
		title:    title(s.name, d.Name),
	}
	if c.context, err = cl.NewContext(d); err != nil {
		return nil, err
	}
	c.local = int(min(d.LocalMemory, 1<<30))
	if !d.IsCPU {
		c.units = int(d.Units)
	}
	c.startDriver()
	if err := c.setUp(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// title returns the name of a kernel with that of its device, in at most 64 bytes.
func title(kernel, device string) string {
	const most = 64
	name := queens.Sanitize(kernel + " " + strings.Join(strings.Fields(device), " "))
	for len(name) > most {
		runes := []rune(name)
		name = string(runes[:len(runes)-1])
	}
	return strings.TrimSpace(name)
}

// setUp builds the kernels, allocates the buffers and checks all lanes.
func (c *counter) setUp() error {
	if err := c.context.Build(c.source, "-cl-std=CL1.2"); err != nil {
		return err
	}
	k, b := &c.kernels, &c.buffers
	for _, named := range []struct {
		name string
		at   **cl.Kernel
	}{{"begin", &k.begin}, {"search", &k.search}, {"spill", &k.spill}} {
		made, err := c.context.NewKernel(named.name)
		if err != nil {
			return fmt.Errorf("kernel %s: %w", named.name, err)
		}
		most, err := made.GroupSize()
		if err != nil {
			return err
		}
		if most < c.group {
			return fmt.Errorf("work-groups of kernel %s have at most %d lanes on this device, not %d", named.name, most, c.group)
		}
		*named.at = made
	}
	for _, sized := range []struct {
		at    *cl.Buffer
		bytes int
	}{
		{&b.queue, c.capacity * int(unsafe.Sizeof(node{}))},
		{&b.places, c.capacity * int(unsafe.Sizeof(place{}))},
		{&b.control, (manyRounds + 1) * controlWords * 4},
		{&b.saved, slots * c.lanes * int(unsafe.Sizeof(node{}))},
		{&b.lanes, c.lanes * sizeOfLane},
		{&b.counts, maxTasks * 8},
		{&b.rows, maxProblems * slots * int(unsafe.Sizeof(row{}))},
	} {
		made, err := c.context.NewBuffer(sized.bytes)
		if err != nil {
			return fmt.Errorf("%d bytes of the device: %w", sized.bytes, err)
		}
		*sized.at = made
	}
	if err := errors.Join(
		setBuffers(k.begin, b.lanes, b.counts),
		setBuffers(k.search, b.queue, b.places, b.control, b.saved, b.lanes, b.counts, b.rows),
		setBuffers(k.spill, b.queue, b.places, b.control, b.saved, b.lanes),
	); err != nil {
		return err
	}
	return c.checkLanes()
}

// setBuffers sets the first arguments of a kernel.
func setBuffers(k *cl.Kernel, buffers ...cl.Buffer) error {
	for i, b := range buffers {
		if err := k.SetBuffer(i, b); err != nil {
			return err
		}
	}
	return nil
}

// checkLanes counts a small board once in each lane: the first launch has fewer steps than the board.
func (c *counter) checkLanes() error {
	const n, solutions = 8, 92
	board := queens.FullBoard(n)
	var pulse atomic.Uint64
	got, err := c.Count(context.Background(), &board, slices.Repeat([]queens.Prefix{{}}, c.lanes), &pulse)
	if err != nil {
		return err
	}
	if want := uint64(c.lanes) * solutions; got != want {
		return fmt.Errorf("%d lanes count %d solutions for n = %d, not %d: the device or its driver is broken", c.lanes, got, n, want)
	}
	return nil
}
