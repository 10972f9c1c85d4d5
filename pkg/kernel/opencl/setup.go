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
	"unsafe"

	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl/internal/cl"
	"nqueens/pkg/queens"
)

// macrosSource begins every source. That of a search goes on with common.cl and its own file.
var (
	//go:embed macros.cl
	macrosSource string
	//go:embed common.cl
	commonSource string
	//go:embed search.cl
	lanesSource string
	//go:embed warps.cl
	warpsSource string
)

// settings are the sizes of a counter. A size that is 0 is chosen for the device. Tests set extreme
// sizes.
type settings struct {
	warps     bool // the lanes of a warp search together: see warps.cl
	noVotes   bool // without instructions for votes
	source    string
	lanes     int    // a multiple of group
	group     int    // lanes of a work-group
	inside    int    // rows of a warp whose states are in local memory; -1 is none
	portion   int    // states that the host writes to the queue at once, at most its capacity
	minBudget uint32 // limits of the steps of a lane in a round
	maxBudget uint32
	memory    int // bytes of the device for all buffers
}

const (
	// lanesOfUnit is the greatest number of lanes for each multiprocessor of a GPU.
	lanesOfUnit = 768
	// lanesOfThread is the number of lanes for each thread of a CPU. A thread runs its lanes one
	// after another.
	lanesOfThread = 64
	// maxGroup is the greatest size of a work-group. 48 KB of local memory have room for its
	// stacks.
	maxGroup = 64
	// minPortion is the least size of a portion, except on tiny devices. Fewer states would not be
	// worth the time of a launch.
	minPortion = 4096
	// commonRows is the greatest number of rows of all problems of a search of several tasks. More
	// would take local memory from the stacks.
	commonRows = 256
)

// statesOfLane is the greatest number of states that a spill moves from a lane, on average over the
// lanes of a warp.
const statesOfLane = slots / 2

// sizeOfLane is the size of Lane in common.cl.
const sizeOfLane = 12

// Sizes of warps.cl. The two lowest rows of a problem have no queue.
const (
	warpLanes     = 32
	roomOfRow     = 64
	warpsOfUnit   = 18 // the greatest number of warps for each multiprocessor
	leastInside   = 8  // rows in local memory, if it has room for them in fewer warps
	mostInside    = slots - 2
	localOfCounts = 256 // bytes for the numbers of states and for votes
)

const nodeBytes = int(unsafe.Sizeof(node{}))

// localRows and localStates return how many bytes of local memory a work-group needs: for the rows
// of the problems, and for the states of its lanes. The stack of a lane has room for a state of
// each row, and for a state without free squares at its bottom. A warp has room for roomOfRow
// states of each row inside.
func (c *counter) localRows(s sizes) int {
	if c.warps {
		return slots * 8
	}
	return max(s.rows, 1) * 24
}

func (c *counter) localStates(s sizes, group int) int {
	if c.warps {
		return max(c.inside, 1) * roomOfRow * nodeBytes
	}
	return (s.most + 1) * group * nodeBytes
}

// open returns a counter of the device with that index, after a check of all its lanes. If the
// device has too little memory for the lanes that keep it busy, the counter has fewer. If its
// compiler knows no votes of warps, they are made without.
func open(index int, s settings) (*counter, error) {
	c, err := openLanes(index, s)
	if s.warps && !s.noVotes && errors.Is(err, cl.ErrRejected) {
		s.noVotes = true
		c, err = openLanes(index, s)
	}
	all := c.lanes
	for s.lanes == 0 && cl.OutOfMemory(err) && c.lanes >= 2*c.group {
		fewer := s
		fewer.lanes = c.lanes / 2 / c.group * c.group
		c, err = openLanes(index, fewer)
	}
	if err != nil {
		return nil, err
	}
	if c.lanes < all {
		c.note = fmt.Sprintf("device %s has memory for %d of %d lanes: it searches slower", c.title,
			c.lanes, all)
	}
	return c, nil
}

// openLanes returns a counter with the lanes of the settings. With an error, its sizes say what was
// tried.
func openLanes(index int, s settings) (*counter, error) {
	c := &counter{settings: s}
	d, title, err := device(index, nameOf(index, s.warps))
	if err != nil {
		return c, err
	}
	c.title = title
	c.choose(&d)
	c.driver = startDriver(c)
	if err := c.setUp(d); err != nil {
		return c, fmt.Errorf("device %s, %d lanes: %w", c.title, c.lanes, errors.Join(err, c.Close()))
	}
	return c, nil
}

// device returns the device with that index, and the title of a kernel of that name on it.
func device(index int, name string) (d cl.Device, title string, err error) {
	found, err := cl.Devices()
	if err != nil {
		return d, "", err
	}
	if index >= len(found) {
		return d, "", fmt.Errorf("this machine has no device %s%d: it has %s",
			Prefix, index, humanize.Plural(len(found), "device"))
	}
	d = found[index]
	title = queens.Sanitize(fmt.Sprint(name, " ", d.Name))
	if !d.Available {
		return d, title, fmt.Errorf("device %s is not available, or its driver has no compiler", title)
	}
	return d, title, nil
}

// choose sets the sizes that are 0: work-groups whose stacks fit into the local memory on any
// board, and as many lanes as keep the device busy.
func (c *counter) choose(d *cl.Device) {
	c.local, c.unit = d.LocalMemory, unitOf(d)
	c.minBudget, c.maxBudget = cmp.Or(c.minBudget, firstBudget), cmp.Or(c.maxBudget, maxBudget)
	c.budget = c.minBudget
	each := lanesOfUnit
	if c.warps {
		c.together, c.group, each = warpLanes, warpLanes, min(warpsOfUnit, c.unit.groups)*warpLanes
		c.chooseInside()
		votes := ""
		if d.IsNVIDIA() && !c.noVotes {
			votes = "#define WARP_VOTES\n"
		}
		c.source = cmp.Or(c.source, votes+commonSource+warpsSource)
	} else {
		c.together = 1
		c.group = cmp.Or(c.group, min(maxGroup, d.GroupSize))
		c.group = c.fittingGroup(sizes{rows: slots, most: slots})
		c.source = cmp.Or(c.source, commonSource+lanesSource)
	}
	if c.unit.local == 0 {
		each = lanesOfThread
	}
	c.lanes = cmp.Or(c.lanes, max(d.Units*each/c.group, 1)*c.group)
	c.portion = cmp.Or(c.portion, min(statesOfLane*c.lanes, max(2*c.lanes, minPortion)))
}

// chooseInside chooses how many rows of a warp are in local memory: as many as leave room for
// warpsOfUnit warps, but at least leastInside, if a work-group may use so much.
func (c *counter) chooseInside() {
	const row = roomOfRow * nodeBytes
	rest := slots*8 + localOfCounts
	if c.inside == 0 {
		c.inside = mostInside
		if c.unit.local > 0 {
			c.inside = max((c.unit.local/warpsOfUnit-c.unit.reserved-rest)/row, leastInside)
		}
	}
	c.inside = max(min(c.inside, (c.local-rest)/row, mostInside), 0)
}

// fittingGroup returns the size of a work-group, halved until its rows and stacks fit into the
// local memory or the size is 1. A warp is never halved: chooseInside lets it fit.
func (c *counter) fittingGroup(s sizes) int {
	group := c.group
	for !c.warps && group > 1 && c.localRows(s)+c.localStates(s, group) > c.local {
		group /= 2
	}
	return group
}

// resident returns how many lanes take part in a search: on a GPU as many as it runs at the same
// time, else all.
func (c *counter) resident(s sizes) int {
	if c.unit.local == 0 {
		return c.lanes
	}
	need := c.localRows(s) + c.localStates(s, c.group) + c.unit.reserved
	if c.warps {
		need += localOfCounts
	}
	groups := min(c.unit.local/need, c.unit.groups)
	return min(c.lanes, c.unit.units*max(groups, 1)*c.group)
}

// setUp builds the kernels, allocates the buffers and checks all lanes.
func (c *counter) setUp(d cl.Device) error {
	const placeBytes, rowBytes = int(unsafe.Sizeof(place{})), int(unsafe.Sizeof(row{}))
	c.nodes, c.places = make([]node, c.portion), make([]place, c.portion/c.together)
	c.counts, c.totals = make([]uint32, 2*maxTasks), make([]uint64, maxTasks)
	c.problems, c.bounds.prefixes = make([]problem, 0, slots), make([]depthsOf, 0, slots)
	x, k, b := cl.NewContext(d, macrosSource+c.source), &c.kernels, &c.buffers
	c.context = x
	queued := statesOfLane * c.lanes
	bytes := (queued+c.savedStates())*nodeBytes + queued/c.together*placeBytes + c.lanes*sizeOfLane
	if c.memory > 0 && bytes > c.memory {
		return cl.ErrMemory
	}
	b.queue = x.NewBuffer(queued * nodeBytes)
	b.places = x.NewBuffer(queued / c.together * placeBytes)
	b.control = x.NewBuffer((manyRounds + 1) * controlWords * 4)
	b.saved = x.NewBuffer(c.savedStates() * nodeBytes)
	b.lanes = x.NewBuffer(c.lanes * sizeOfLane)
	b.counts = x.NewBuffer(maxTasks * 8)
	b.rows = x.NewBuffer(mostRows * rowBytes)
	k.begin = x.NewKernel("begin", b.lanes, b.counts)
	k.search = x.NewKernel("search", b.queue, b.places, b.control, b.saved, b.lanes, b.counts, b.rows)
	k.spill = x.NewKernel("spill", b.queue, b.places, b.control, b.saved, b.lanes)
	if x.Err() != nil {
		return x.Err()
	}
	return c.checkLanes()
}

// savedStates returns how many states the lanes may save.
func (c *counter) savedStates() int {
	if c.warps {
		return c.lanes / warpLanes * slots * roomOfRow
	}
	return c.lanes * slots
}

// checkLanes counts as many copies of a small board as there are lanes. The first launch has too
// few steps for a whole board, so each lane takes a board.
func (c *counter) checkLanes() error {
	const n, solutions = 8, 92
	board := queens.FullBoard(n)
	var pulse atomic.Uint64
	got, err := c.Count(context.Background(), &board, slices.Repeat([]queens.Prefix{{}}, c.lanes),
		&pulse)
	if err != nil {
		return err
	}
	if want := uint64(c.lanes) * solutions; got != want {
		return fmt.Errorf("%d lanes count %d solutions for n = %d, not %d: %w",
			c.lanes, got, n, want, kernel.ErrBroken)
	}
	return nil
}
