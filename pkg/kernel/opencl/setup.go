//go:build opencl && linux

package opencl

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"nqueens/pkg/kernel/opencl/internal/cl"
	"nqueens/pkg/queens"
)

//go:embed search.cl
var source string

// settings are the sizes of a counter. A size that is 0 is chosen for the device. Tests set extreme sizes.
type settings struct {
	source    string
	lanes     int    // a multiple of group
	group     int    // lanes of a work-group
	portion   int    // states that the host writes to the queue at once, at most its capacity
	minBudget uint32 // limits of the steps of a lane in a round
	maxBudget uint32
	tick      time.Duration // see tickTime
}

const (
	// lanesOfUnit is the greatest number of lanes for each multiprocessor of a GPU.
	lanesOfUnit = 768
	// localOfUnit is how much local memory of a multiprocessor the work-groups may fill, in bytes. NVIDIA's H100 and H200 have
	// 228 KB; OpenCL does not report this. Work-groups that find no room would wait until others end.
	localOfUnit = 224 << 10
	// localOfGroup is the local memory that the driver takes for each work-group, in bytes.
	localOfGroup = 1 << 10
	// lanesOfThread is the number of lanes for each thread of a CPU. A thread runs its lanes one after another.
	lanesOfThread = 64
	// maxGroup is the greatest size of a work-group. 48 KB of local memory have room for its stacks.
	maxGroup = 64
	// minPortion is the least size of a portion, except on tiny devices. Fewer states would not be worth the time of a
	// launch.
	minPortion = 4096
)

// statesOfLane is the greatest number of states that a spill moves from a lane.
const statesOfLane = slots / 2

// sizeOfLane is the size of Lane in search.cl.
const sizeOfLane = 12

// localRows and localStacks return how many bytes of local memory a work-group needs: for the rows of the problems, and for the
// stacks of its lanes. A stack has room for a state of each row, and for a state without free squares at its bottom.
func localRows(problems int) int { return problems * slots * 24 }
func localStacks(first, group int) int {
	return (slots - first + 1) * group * int(unsafe.Sizeof(node{}))
}

// open returns a counter of the device with that index, after a check of all its lanes.
func open(index int, s settings) (*counter, error) {
	found, err := cl.Devices()
	if err != nil {
		return nil, err
	}
	if index >= len(found) {
		return nil, fmt.Errorf("this machine has no device %s%d: it has %d devices", Prefix, index, len(found))
	}
	d, c := found[index], &counter{settings: s}
	c.title = queens.Sanitize(fmt.Sprint(Prefix, index, " ", d.Name))
	if !d.Available {
		return nil, fmt.Errorf("device %s is not available, or its driver has no compiler", c.title)
	}
	c.choose(&d)
	c.startDriver()
	if err := c.setUp(d); err != nil {
		return nil, fmt.Errorf("device %s, %d lanes: %w", c.title, c.lanes, errors.Join(err, c.Close()))
	}
	return c, nil
}

// choose sets the sizes that are 0: work-groups whose stacks fit into the local memory on any board, and as many lanes as keep
// the device busy.
func (c *counter) choose(d *cl.Device) {
	each := lanesOfThread
	if !d.IsCPU {
		each, c.units = lanesOfUnit, d.Units
	}
	c.local = d.LocalMemory
	c.source = cmp.Or(c.source, source)
	c.group = cmp.Or(c.group, fittingGroup(min(maxGroup, d.GroupSize), c.local, 0, 1))
	c.lanes = cmp.Or(c.lanes, max(d.Units*each/c.group, 1)*c.group)
	c.portion = cmp.Or(c.portion, min(statesOfLane*c.lanes, max(2*c.lanes, minPortion)))
	c.minBudget, c.maxBudget = cmp.Or(c.minBudget, firstBudget), cmp.Or(c.maxBudget, maxBudget)
	c.tick = cmp.Or(c.tick, tickTime)
	c.budget = c.minBudget
}

// fittingGroup returns the size of a work-group, halved until its rows and stacks fit into the local memory or the size is 1.
func fittingGroup(group, local, first, problems int) int {
	for group > 1 && localRows(problems)+localStacks(first, group) > local {
		group /= 2
	}
	return group
}

// resident returns how many lanes take part in a search: on a GPU as many as it runs at the same time, else all.
func (c *counter) resident(first, problems int) int {
	if c.units == 0 {
		return c.lanes
	}
	groups := localOfUnit / (localRows(problems) + localStacks(first, c.group) + localOfGroup)
	return min(c.lanes, c.units*max(groups, 1)*c.group)
}

// setUp builds the kernels, allocates the buffers and checks all lanes.
func (c *counter) setUp(d cl.Device) error {
	const nodeBytes, placeBytes, rowBytes = int(unsafe.Sizeof(node{})), int(unsafe.Sizeof(place{})), int(unsafe.Sizeof(row{}))
	c.nodes, c.places = make([]node, c.portion), make([]place, c.portion)
	c.counts, c.totals = make([]uint32, 2*maxTasks), make([]uint64, maxTasks)
	x, k, b := cl.NewContext(d, c.source), &c.kernels, &c.buffers
	c.context = x
	b.queue = x.NewBuffer(statesOfLane * c.lanes * nodeBytes)
	b.places = x.NewBuffer(statesOfLane * c.lanes * placeBytes)
	b.control = x.NewBuffer((manyRounds + 1) * controlWords * 4)
	b.saved = x.NewBuffer(slots * c.lanes * nodeBytes)
	b.lanes = x.NewBuffer(c.lanes * sizeOfLane)
	b.counts = x.NewBuffer(maxTasks * 8)
	b.rows = x.NewBuffer(maxProblems * slots * rowBytes)
	k.begin = x.NewKernel("begin", b.lanes, b.counts)
	k.search = x.NewKernel("search", b.queue, b.places, b.control, b.saved, b.lanes, b.counts, b.rows)
	k.spill = x.NewKernel("spill", b.queue, b.places, b.control, b.saved, b.lanes)
	if x.Err() != nil {
		return x.Err()
	}
	return c.checkLanes()
}

// checkLanes counts as many copies of a small board as there are lanes. The first launch has too few steps for a whole board,
// so each lane takes a board.
func (c *counter) checkLanes() error {
	const n, solutions = 8, 92
	board := queens.FullBoard(n)
	var pulse atomic.Uint64
	got, err := c.Count(context.Background(), &board, slices.Repeat([]queens.Prefix{{}}, c.lanes), &pulse)
	if err != nil {
		return err
	}
	if want := uint64(c.lanes) * solutions; got != want {
		return fmt.Errorf("%d lanes count %d solutions for n = %d, not %d: device or driver is broken", c.lanes, got, n, want)
	}
	return nil
}
