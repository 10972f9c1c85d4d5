package halves

import (
	"context"
	"fmt"
	"math/bits"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// Config describes a [Counter].
type Config struct {
	N      int // side of the board, 1 to [queens.MaxN]
	Kernel Kernel
	// Memory is the greatest number of bytes that the Counter allocates, at least [LeastMemory].
	// With less memory, a Counter cuts longer lists of half-boards into parts, which takes longer.
	// The zero value stands for [Memory].
	Memory uint64
	// Helpers is the greatest number of goroutines in [Counter.Help] at a time.
	Helpers int
}

// Validate returns the first thing that is wrong with a configuration.
func (c Config) Validate() error {
	if err := queens.ValidateN(c.N); err != nil {
		return err
	}
	if c.Kernel.newBin == nil {
		return fmt.Errorf("a counter of halves needs a kernel of this package")
	}
	if c.Helpers < 0 {
		return fmt.Errorf("a counter of halves can't have %d helpers", c.Helpers)
	}
	if least := LeastMemory(c.N, c.Helpers); c.Memory != 0 && c.Memory < least {
		return fmt.Errorf("a counter of halves of a board of side %d with %d helpers needs at least %d "+
			"bytes of memory, not %d", c.N, c.Helpers, least, c.Memory)
	}
	return nil
}

// SharedFrom is the side of the smallest board whose row sets take so much memory that the threads
// of a machine should count them together.
const SharedFrom = 26

// Memory returns the number of bytes that a [Counter] of a board of side n allocates if it is not
// told to take less. Without helpers it is about 28 MB for n = 24, 210 MB for n = 26, and twice as
// much for each further n, up to 1.7 GB from n = 29 on.
func Memory(n, helpers int) uint64 {
	const smallest, largest = 250_000, 1 << 26
	masks := smallest << max(0, n-22)
	if n >= SharedFrom {
		masks *= 2
	}
	return memory(n, min(masks, largest), helpers)
}

// LeastMemory returns the least number of bytes with which a [Counter] of a board of side n can
// count.
func LeastMemory(n, helpers int) uint64 { return memory(n, leastMasks, helpers) }

// leastMasks is the least capacity of a list. Parts of a list fill most of it.
const leastMasks = 8 * roundMasks

// memory returns the number of bytes of a Counter with lists of the given capacity.
func memory(n, masks, helpers int) uint64 {
	const size, others = 8, 1 << 20
	bytes := others + size*(3*masks+pairsFor(n)+2*sampleMasks)
	bytes += 4 * (placesOf(longest(masks)) + 3*(1<<depthOf(longest(masks))+1))
	bytes += fallingFactorial(n-west(n), stripWidth(n-west(n), 3)) * (eighthSize + size)
	member := 2*tablesSize + 4*size*roundMasks + 1<<15 // of three tables, two are narrow
	for _, columns := range []int{west(n), n - west(n)} {
		for i := range 4 {
			bytes += eighthSize*fallingFactorial(columns, stripWidth(columns, i)) + 4<<columns
		}
		member += 2 * size * (factorial(columns/2) + factorial(columns-columns/2))
	}
	return uint64(bytes + (1+helpers)*member)
}

// Counter counts row sets of one board by the method halves. Only one Count may run at a time.
type Counter struct {
	n          int
	crew       crew
	strip      strip
	west, east half
	order      order
	sorter     sorter
	joiner     joiner
	masks      []uint64 // where the lists are
	device     Device   // joins in place of the crew, if it is not nil
	words      int      // of its bins
	lists      Lists

	fillWest, fillEast, join func(m *member) // phases
}

// NewCounter returns a Counter. It allocates all memory that the Counter will need.
func NewCounter(cfg Config) (*Counter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n, limit := cfg.N, cfg.Memory
	if limit == 0 {
		limit = Memory(n, cfg.Helpers)
	}
	masks := leastMasks
	for more := masks / 2; more > 0; more /= 2 { // the largest lists within the limit
		for memory(n, masks+more, cfg.Helpers) <= limit {
			masks += more
		}
	}
	c := &Counter{n: n}
	c.crew.reserve(1+cfg.Helpers, cfg.Kernel)
	c.strip.reserve(n - west(n))
	c.west.reserve(n, west(n), 1+cfg.Helpers, cfg.Kernel)
	c.east.reserve(n, n-west(n), 1+cfg.Helpers, cfg.Kernel)
	c.order.reserve(n)
	c.masks = make([]uint64, 3*masks)
	c.sorter.reserve(&c.crew, longest(masks))
	for _, list := range []*sorted{&c.joiner.east, &c.joiner.westOnce, &c.joiner.westTwice} {
		list.cells(depthOf(longest(masks)))
	}
	c.fillWest, c.fillEast, c.join = c.west.fill, c.east.fill, c.joiner.join
	if cfg.Kernel.open == nil {
		return c, nil
	}
	device, err := cfg.Kernel.open(Room{Masks: len(c.masks), Cells: len(c.joiner.east.from)})
	if err != nil {
		return nil, err
	}
	c.device, c.words = device, cfg.Kernel.words
	return c, nil
}

// Close frees what the Counter holds on a device. The caller must call it once, after all other
// methods. Without a device it does nothing.
func (c *Counter) Close() error {
	if c.device == nil {
		return nil
	}
	return c.device.Close()
}

// Count returns the sum of the weighted sums of the row sets with the numbers first to
// first+sets-1. The sum over all [Sets] is the number of solutions of the board. A Count without an
// error does not allocate.
//
// While Count searches, it increments pulse, so that an observer can tell a running search from a
// stuck one. If ctx ends first, Count returns 0 and context.Cause(ctx) within 50 ms. The only other
// errors are for row sets that do not exist, for a sum that passes 64 bits, and those of a device.
func (c *Counter) Count(
	ctx context.Context, first, sets uint64, pulse *atomic.Uint64,
) (sum uint64, err error) {
	if err := validate(c.n, first, sets); err != nil {
		return 0, err
	}
	c.crew.start(ctx, pulse)
	for number := first; number < first+sets; number++ {
		sum, err = c.countSet(Set(c.n, number), sum)
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// countSet adds the weighted sum of a row set to sum.
func (c *Counter) countSet(s RowSet, sum uint64) (_ uint64, err error) {
	w := weightsOf(c.n, s)
	all := uint32(1<<c.n - 1)
	wanted := kinds{once: oneLong, twice: twoLong}
	if w.none == weightOfOne {
		wanted.once |= noLong
	}
	c.west.list(&c.strip, all&^uint32(s), 0, anywhere)
	c.east.list(&c.strip, uint32(s), west(c.n), offDiagonals)
	c.order.find(&c.west, &c.east, wanted)
	c.joiner.bits = c.order.diagonals
	c.order.apply(&c.west)
	c.order.apply(&c.east)
	if sum, err = c.addPairs(sum, w.set*weightOfOne, wanted); err != nil {
		return 0, err
	}
	wanted = kinds{once: noLong}
	if w.none != 0 && w.none != weightOfOne {
		if sum, err = c.addPairs(sum, w.set*w.none, wanted); err != nil {
			return 0, err
		}
	}
	if w.centre == 0 {
		return sum, nil
	}
	c.west.list(&c.strip, all&^uint32(s), 0, offDiagonals)
	c.east.list(&c.strip, uint32(s), west(c.n), withCentre)
	c.order.apply(&c.west)
	c.order.apply(&c.east)
	return c.addPairs(sum, w.set*w.centre, wanted)
}

// addPairs returns sum plus the number of pairs, as pairs returns it, times a weight.
func (c *Counter) addPairs(sum, weight uint64, wanted kinds) (uint64, error) {
	found, err := c.pairs(wanted)
	if err != nil {
		return 0, err
	}
	return add(sum, weight, found)
}

// pairs counts the pairs of an eastern half-board and a wanted western one that do not attack each
// other: once or twice. If a list is longer than there is memory for, it goes part by part.
func (c *Counter) pairs(wanted kinds) (found uint64, err error) {
	for _, m := range c.crew.all {
		m.found = 0
	}
	c.east.start(kinds{once: noLong})
	for moreEast := true; moreEast && c.crew.ctx.Err() == nil; {
		moreEast = c.fill(&c.east, c.masks[:2*(len(c.masks)/3)], 0, c.fillEast)
		c.joiner.east.masks, _, _ = c.east.to.lists()
		if err := c.joinWest(wanted); err != nil {
			return 0, err
		}
	}
	for _, m := range c.crew.all {
		found += m.found
	}
	return found, nil
}

// joinWest counts the pairs of the eastern half-boards in the list and all western ones.
func (c *Counter) joinWest(wanted kinds) error {
	j := &c.joiner
	east := len(j.east.masks)
	c.west.start(wanted)
	for first, more := true, true; more && c.crew.ctx.Err() == nil; first = false {
		more = c.fill(&c.west, c.masks[east:], east, c.fillWest)
		once, scratch, twice := c.west.to.lists()
		j.westOnce.masks, j.westTwice.masks = once, twice
		if first {
			j.depth = min(j.bits, depthOf(max(east, len(once)+len(twice))))
			c.sorter.sort(&j.east, scratch, j.bits, j.depth)
		}
		c.sorter.sort(&j.westOnce, scratch, j.bits, j.depth)
		c.sorter.sort(&j.westTwice, scratch, j.bits, j.depth)
		j.start()
		if err := c.joinLists(); err != nil {
			return err
		}
	}
	return nil
}

// joinLists joins the sorted lists, and adds the number of pairs to what the crew has found.
func (c *Counter) joinLists() error {
	if c.device == nil {
		c.crew.run(c.join)
		return nil
	}
	c.lists.set(&c.joiner, c.words)
	first := c.crew.all[0]
	pairs, err := c.device.Join(c.crew.ctx, &c.lists, first.pulse)
	first.found += pairs
	return err
}

// fill puts half-boards of a half into memory, with scratch memory for at least as many masks as
// given, and reports whether there are more.
func (c *Counter) fill(
	h *half, masks []uint64, scratch int, phase func(m *member),
) (more bool) {
	h.to.reset(masks, scratch)
	c.crew.run(phase)
	return h.more()
}

// longest returns the greatest length of a list of a Counter with memory for three lists of the
// given length: half of the memory, as the other half is scratch memory.
func longest(masks int) int { return 3 * masks / 2 }

// depthOf returns the number of bits by which lists of the given length are sorted. The sorter
// makes two passes, so there are at most 2·digitBits.
func depthOf(length int) int { return min(max(1, bits.Len(uint(length))-4), 2*digitBits) }
