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
}

// Validate returns the first thing that is wrong with a configuration.
func (c Config) Validate() error {
	if err := queens.ValidateN(c.N); err != nil {
		return err
	}
	if c.Kernel.build == nil {
		return fmt.Errorf("a counter of halves needs a kernel of this package")
	}
	if least := LeastMemory(c.N); c.Memory != 0 && c.Memory < least {
		return fmt.Errorf("a counter of halves of a board of side %d needs at least %d bytes of memory, "+
			"not %d", c.N, least, c.Memory)
	}
	return nil
}

// Memory returns the number of bytes that a [Counter] of a board of side n allocates if it is not
// told to take less. It is about 25 MB for n = 24. Above that it doubles with each n, up to 1.7 GB
// from n = 30 on.
func Memory(n int) uint64 {
	const smallest, largest = 1 << 18, 1 << 26
	return memory(n, min(smallest<<max(0, n-22), largest))
}

// LeastMemory returns the least number of bytes with which a [Counter] of a board of side n can
// count.
func LeastMemory(n int) uint64 { return memory(n, leastMasks) }

// leastMasks is the least capacity of a list. Parts of a list fill most of it.
const leastMasks = 8 * roundMasks

// memory returns the number of bytes of a Counter with lists of the given capacity.
func memory(n, masks int) uint64 {
	const size = 8
	half := func(columns int) (bytes int) {
		for i := range 4 {
			bytes += eighthSize*fallingFactorial(columns, stripWidth(columns, i)) + 4<<columns
		}
		return bytes + 2*size*(factorial(columns/2)+factorial(columns-columns/2))
	}
	strip := fallingFactorial(n-west(n), stripWidth(n-west(n), 3)) * (eighthSize + size)
	cells := 2 * 4 * (1<<depthOf(masks) + 1)
	return uint64(3*size*masks + half(west(n)) + half(n-west(n)) + strip + cells + 1<<20)
}

// Counter counts row sets of one board by the method halves. Only one of its methods may run at a
// time.
type Counter struct {
	n     int
	ctx   context.Context
	pulse *atomic.Uint64

	strip      strip
	west, east half
	order      order
	sorter     sorter
	joiner     joiner
	// eastIsWhole says that the list of the east has all eastern half-boards of the row set.
	eastIsWhole bool
}

// NewCounter returns a Counter. It allocates all memory that the Counter will need.
func NewCounter(cfg Config) (*Counter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n, limit := cfg.N, cfg.Memory
	if limit == 0 {
		limit = Memory(n)
	}
	masks := leastMasks
	for more := masks / 2; more > 0; more /= 2 { // the largest lists within the limit
		for memory(n, masks+more) <= limit {
			masks += more
		}
	}
	c := &Counter{n: n}
	c.strip.reserve(n - west(n))
	c.west.reserve(n, west(n), cfg.Kernel)
	c.east.reserve(n, n-west(n), cfg.Kernel)
	c.west.poll, c.east.poll, c.sorter.poll, c.joiner.poll = c.poll, c.poll, c.poll, c.poll
	c.sorter.scratch = make([]uint64, masks)
	c.joiner.west.reserve(masks)
	c.joiner.east.reserve(masks)
	c.joiner.bin = cfg.Kernel.newBin()
	return c, nil
}

// poll returns false if the context has ended, and else increments the pulse. It is called at least
// every few milliseconds. Functions that it tells to stop leave wrong counts, which Count drops.
func (c *Counter) poll() bool {
	if c.ctx.Err() != nil {
		return false
	}
	c.pulse.Add(1)
	return true
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
	c.ctx, c.pulse = ctx, pulse
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
func (c *Counter) pairs(long int) uint64 {
	j := &c.joiner
	j.bin.take()
	for more := c.firstEast(); ; more = c.nextEast() {
		c.west.start(long)
		for moreWest := true; moreWest; {
			moreWest = c.fill(&j.west, &c.west)
			c.sort(&j.west)
			if !j.join() {
				return 0
			}
		}
		if !more {
			return j.bin.take()
		}
	}
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
	more = c.fill(&j.east, &c.east)
	j.depth = min(j.bits, depthOf(len(j.east.masks)))
	c.sort(&j.east)
	return more
}

func (c *Counter) fill(list *sorted, h *half) (more bool) {
	list.masks, more = h.fill(list.masks[:0])
	return more
}

func (c *Counter) sort(list *sorted) { c.sorter.sort(list, c.joiner.bits, c.joiner.depth) }

// depthOf returns the number of bits by which lists of the given length are sorted.
func depthOf(length int) int { return max(1, bits.Len(uint(length))-4) }
