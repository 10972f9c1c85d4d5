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
// told to take less. Without helpers it is about 25 MB for n = 24, 210 MB for n = 26, and twice as
// much for each further n, up to 1.7 GB from n = 29 on.
func Memory(n, helpers int) uint64 {
	const smallest, largest = 1 << 18, 1 << 26
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
	bytes := others + 3*size*masks
	bytes += 4 * (placesOf(masks) + 2*(1<<depthOf(masks)+1))
	bytes += fallingFactorial(n-west(n), stripWidth(n-west(n), 3)) * (eighthSize + size)
	member := 2*tablesSize + 2*size*roundMasks + 1<<15 // of three tables, two are narrow
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
	// eastIsWhole says that the list of the east has all eastern half-boards of the row set.
	eastIsWhole bool

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
	c.sorter.reserve(&c.crew, masks)
	c.joiner.west.reserve(masks)
	c.joiner.east.reserve(masks)
	c.west.to, c.east.to = &c.joiner.west, &c.joiner.east
	c.fillWest, c.fillEast, c.join = c.west.fill, c.east.fill, c.joiner.join
	return c, nil
}

// Count returns the sum of the weighted sums of the row sets with the numbers first to
// first+sets-1. The sum over all [Sets] is the number of solutions of the board. A Count without an
// error does not allocate.
//
// While Count searches, it increments pulse, so that an observer can tell a running search from a
// stuck one. If ctx ends first, Count returns 0 and context.Cause(ctx) within 50 ms. The only other
// errors are for row sets that do not exist and for a sum that passes 64 bits.
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
	c.west.list(&c.strip, all&^uint32(s), 0, anywhere)
	c.listEast(s, offDiagonals)
	c.order.find(c.n, &c.west, &c.east)
	c.joiner.bits = c.order.diagonals
	c.order.apply(&c.west)
	c.order.apply(&c.east)
	for long, weight := range [3]uint64{2: w.two, 1: w.one} {
		if weight == 0 {
			continue
		}
		if sum, err = add(sum, w.set*weight, c.pairs(long)); err != nil {
			return 0, err
		}
	}
	if w.none == 0 && w.centre == 0 {
		return sum, nil
	}
	c.west.list(&c.strip, all&^uint32(s), 0, offDiagonals)
	c.order.apply(&c.west)
	if w.none != 0 {
		return add(sum, w.set*w.none, c.pairs(0))
	}
	c.listEast(s, withCentre)
	c.order.apply(&c.east)
	return add(sum, w.set*w.centre, c.pairs(0))
}

// listEast lists the eighths of the east.
func (c *Counter) listEast(s RowSet, where squares) {
	c.east.list(&c.strip, uint32(s), west(c.n), where)
	c.eastIsWhole = false
}

// pairs counts the pairs of an eastern half-board and a western half-board with the given number of
// queens on long diagonals, that do not attack each other. If a list is longer than there is memory
// for, it goes part by part.
func (c *Counter) pairs(long int) (found uint64) {
	for _, m := range c.crew.all {
		m.bin.take()
	}
	for moreEast := c.firstEast(); ; moreEast = c.nextEast() {
		c.west.start(long)
		for moreWest := true; moreWest && c.crew.ctx.Err() == nil; {
			moreWest = c.fill(&c.west, c.fillWest)
			c.sorter.sort(&c.joiner.west, c.joiner.bits, c.joiner.depth)
			c.joiner.start()
			c.crew.run(c.join)
		}
		if !moreEast || c.crew.ctx.Err() != nil {
			break
		}
	}
	for _, m := range c.crew.all {
		found += m.bin.take()
	}
	return found
}

// firstEast sets the list of the east to its first part, and reports whether there are more. If the
// list has all half-boards of the east already, they stay.
func (c *Counter) firstEast() (more bool) {
	if c.eastIsWhole {
		return false
	}
	c.east.start(0)
	more = c.nextEast()
	c.eastIsWhole = !more
	return more
}

// nextEast sets the list of the east to its next part, and reports whether there are more.
func (c *Counter) nextEast() (more bool) {
	j := &c.joiner
	more = c.fill(&c.east, c.fillEast)
	j.depth = min(j.bits, depthOf(len(j.east.masks)))
	c.sorter.sort(&j.east, j.bits, j.depth)
	return more
}

// fill sets the list of a half to its next part, and reports whether there are more.
func (c *Counter) fill(h *half, phase func(m *member)) (more bool) {
	h.to.masks = h.to.masks[:0]
	c.crew.run(phase)
	return h.more()
}

// depthOf returns the number of bits by which lists of the given length are sorted. The sorter
// makes two passes, so there are at most 2·digitBits.
func depthOf(length int) int { return min(max(1, bits.Len(uint(length))-4), 2*digitBits) }
