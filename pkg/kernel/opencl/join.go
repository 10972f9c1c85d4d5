//go:build opencl && linux

package opencl

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"nqueens/pkg/halves"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl/internal/cl"
)

// This file joins half-boards on a device, for the method halves: see [halves.Device]. The source
// of the kernel is that of macros.cl and join.cl.
//
//go:embed join.cl
var joinSource string

// Join returns the kernel of the method halves of a name such as opencl-join:0, which joins on the
// device of that index. It loads no driver. It returns an error if what follows the prefix is no
// index from 0 to 65535. Nobody has measured it on a GPU yet.
func Join(name string) (halves.Kernel, error) {
	index, err := strconv.ParseUint(strings.TrimPrefix(name, JoinPrefix), 10, 16)
	if err != nil || !Joins(name) {
		return halves.Kernel{},
			fmt.Errorf("a join has a name like %s0, with an index up to 65535, not %q", JoinPrefix, name)
	}
	open := func(room halves.Room) (halves.Device, error) {
		j, err := openJoiner(int(index), room)
		if err != nil {
			return nil, err
		}
		return j, nil
	}
	return halves.WithDevice(name, binWords/2, open), nil
}

// Sizes of join.cl.
const (
	binWords = 32  // words of 32 bits of a bin
	rowBytes = 128 // a row of a table
	// leastRows is the least room for the tables of masks of 60 bits.
	leastRows = 15 << 4
	// mostJoinRows is the room that a work-group takes, so that several fit on a multiprocessor.
	mostJoinRows = 12 << 5
	mostWarps    = 8 // of a work-group
)

const (
	// portionMasks is the number of masks that a step writes to the device.
	portionMasks = 1 << 20
	// unitsAtOnce is the greatest number of units of a launch, and firstUnits that of the first.
	unitsAtOnce, firstUnits = 1 << 14, 1 << 6
)

// found is a type of join.cl, with the same layout.
type found struct{ pairs, stamp uint64 }

// joiner joins lists of half-boards on a device. It has memory of its own there.
type joiner struct {
	driver[joiner]
	context *cl.Context
	join    cl.Kernel
	buffers struct{ masks, cells, units, found cl.Buffer }
	cells   int // elements of an array of cells
	group   int // lanes of a work-group

	lists    *halves.Lists
	portion  []uint64 // the masks that the next step writes, from the given element on
	at       int
	units    []halves.Unit // of the next launch
	atOnce   int           // the greatest number of units of the next launch
	launches uint32
	expected time.Duration // how long the next launch will take
	found    []found       // what the units of the last launch have found

	title string // name of the kernel and its device, printable
	lost  error  // not nil after a failure of the device
}

// openJoiner returns a joiner of the device with that index, for lists up to a size.
func openJoiner(index int, room halves.Room) (*joiner, error) {
	d, title, err := device(index, fmt.Sprint(JoinPrefix, index))
	if err != nil {
		return nil, err
	}
	rows := min(d.LocalMemory/rowBytes, mostJoinRows)
	warps := min(d.GroupSize/binWords, mostWarps)
	if rows < leastRows || warps == 0 {
		return nil, fmt.Errorf("device %s has work-groups of %d lanes with %d bytes of local memory: "+
			"the join needs %d and %d", title, d.GroupSize, d.LocalMemory, binWords, leastRows*rowBytes)
	}
	j := &joiner{
		title: title, cells: room.Cells, group: warps * binWords, atOnce: firstUnits,
		units: make([]halves.Unit, unitsAtOnce), found: make([]found, unitsAtOnce),
	}
	x, b := cl.NewContext(d, macrosSource+joinSource), &j.buffers
	j.context = x
	b.masks = x.NewBuffer(8 * room.Masks)
	b.cells = x.NewBuffer(2 * 4 * room.Cells)
	b.units = x.NewBuffer(int(unsafe.Sizeof(halves.Unit{})) * unitsAtOnce)
	b.found = x.NewBuffer(int(unsafe.Sizeof(found{})) * unitsAtOnce)
	j.join = x.NewKernel("join", b.masks, b.cells, b.units, b.found)
	x.SetWord(j.join, 8, uint32(room.Cells))
	x.SetLocal(j.join, 9, rows*rowBytes)
	x.SetWord(j.join, 10, uint32(rows))
	j.driver = startDriver(j)
	if x.Err() != nil {
		return nil, fmt.Errorf("device %s, %d masks: %w", title, room.Masks,
			errors.Join(x.Err(), j.Close()))
	}
	return j, nil
}

// Close releases everything.
func (j *joiner) Close() error {
	return j.end(j.title, func(j *joiner) error { return j.context.Close() })
}

func (j *joiner) Join(
	ctx context.Context, l *halves.Lists, pulse *atomic.Uint64,
) (pairs uint64, err error) {
	if j.lost != nil {
		return 0, j.lost
	}
	j.lists = l
	if pairs, err = j.run(ctx, pulse); err != nil {
		j.lost = fmt.Errorf("%w: %s: %w", kernel.ErrDeviceLost, j.title, err)
		return 0, j.lost
	}
	return pairs, nil
}

// run writes the lists to the device, and joins unit by unit, until none is left or the context
// ends. Its errors are failures of the device.
func (j *joiner) run(ctx context.Context, pulse *atomic.Uint64) (pairs uint64, err error) {
	l := j.lists
	j.at = 0
	for _, list := range lists(l) {
		for len(list) > 0 && ctx.Err() == nil {
			j.portion = list[:min(portionMasks, len(list))]
			list = list[len(j.portion):]
			if err := j.do(ctx, (*joiner).write); err != nil {
				return 0, err
			}
			j.at += len(j.portion)
			pulse.Add(1)
		}
	}
	if err := j.do(ctx, (*joiner).begin); err != nil {
		return 0, err
	}
	for ; ctx.Err() == nil; pulse.Add(1) {
		j.units = j.units[:l.Next(j.units[:j.atOnce])]
		if len(j.units) == 0 {
			return pairs, nil
		}
		if err := j.do(ctx, (*joiner).launch); err != nil {
			return 0, err
		}
		for _, f := range j.found[:len(j.units)] {
			pairs += f.pairs
		}
	}
	return 0, nil
}

// lists returns the lists in the order in which the device has them.
func lists(l *halves.Lists) [4][]uint64 {
	return [...][]uint64{l.Binned[0], l.Binned[1], l.Streamed[0], l.Streamed[1]}
}

// write writes a portion of the masks to the device.
func (j *joiner) write() error {
	cl.WriteAt(j.context, j.buffers.masks, j.at, j.portion)
	return j.context.Err()
}

// begin tells the device where the masks are.
func (j *joiner) begin() error {
	at := 0
	for i, list := range lists(j.lists) {
		if i > 0 {
			j.context.SetWord(j.join, 3+i, uint32(at))
		}
		at += len(list)
	}
	streamed := 0
	for i, cells := range j.lists.Cells {
		if cells != nil {
			cl.WriteAt(j.context, j.buffers.cells, i*j.cells, cells)
			streamed++
		}
	}
	j.context.SetWord(j.join, 7, uint32(streamed))
	return j.context.Err()
}

// launch joins the units, and sets what they have found.
func (j *joiner) launch() error {
	x := j.context
	j.launches++
	cl.Write(x, j.buffers.units, j.units)
	x.SetWord(j.join, 11, j.launches)
	began := time.Now()
	x.Start(j.join, len(j.units)*j.group, j.group)
	await(x, j.expected)
	took := time.Since(began)
	cl.Read(x, j.found[:len(j.units)], j.buffers.found)
	if x.Err() != nil {
		return x.Err()
	}
	for i, f := range j.found[:len(j.units)] {
		if f.stamp != uint64(j.launches)<<32|uint64(i) {
			return fmt.Errorf("unit %d of %d has no result: %w", i, len(j.units), kernel.ErrBroken)
		}
	}
	j.adapt(took)
	return nil
}

// adapt sets the number of units and the expected time of the next launch. A launch with fewer
// units, the last of a join, tells nothing about more of them, unless it takes too long.
func (j *joiner) adapt(took time.Duration) {
	j.expected = min(took, launchTime)
	if len(j.units) < j.atOnce && took <= launchTime {
		return
	}
	units := float64(launchTime) / float64(max(took, 1)) * float64(len(j.units))
	j.atOnce = int(min(max(units, 1), 2*float64(j.atOnce), unitsAtOnce))
}
