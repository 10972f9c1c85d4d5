//go:build !purego

package kernel

import (
	"context"
	"math/bits"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// The vector kernels search depth first, but a row at a time: each row has a level
// of states that wait for a queen in it. A step takes states off one level and
// appends their children to the next, many at once in the lanes of vectors; lanes
// that run out of squares to try take the next state, so that none idles. The
// search steps from the deepest level that holds enough, which bounds what the
// levels hold.

const (
	// inFlight is the number of states that a level may hold in vectors, between
	// one step and the next.
	inFlight = 64
	// capacity is the number of states in a level's buffers. It keeps a level's
	// three buffers apart modulo 4096 bytes, and the levels in use in the L2 cache.
	capacity = 4080
	// full is the most states in a level for a step to append another round of
	// children to it. A round makes inFlight at most; the other half of the room is
	// for the dead states that a flush writes behind the last.
	full = capacity - 2*inFlight
	// enough is the number of states from which on a step is worth its start.
	enough = 512
)

// level holds the states that wait for a queen in one row, as a queue.
type level struct {
	// flight holds the vectors of the next step: for each lane a state (cols,
	// left, right) and its free squares yet to be tried. A lane that has none is
	// dead: all its columns are taken.
	flight struct{ cols, left, right, free [inFlight]uint32 }
	// The first n entries of the buffers are states, as in [queens.Prefix], each
	// with a free square; left may have bits beyond the board.
	cols, left, right [capacity]uint32
	n                 int
	_                 [56]byte // fills the last cache line
}

// clear drops all states.
func (l *level) clear() {
	for i := range inFlight {
		l.flight.cols[i], l.flight.free[i] = ^uint32(0), 0
	}
	l.n = 0
}

func (l *level) empty() bool {
	var free uint32
	for _, f := range l.flight.free {
		free |= f
	}
	return l.n == 0 && free == 0
}

// mask is the same mask in each of eight lanes, as AVX2 wants its operands.
type mask [8]uint32

func spread(x uint32) mask { return mask{x, x, x, x, x, x, x, x} }

// sight is what a step sees of the board from its row.
type sight struct {
	row     mask    // squares allowed in the row
	ahead   [5]mask // and in the rows after it
	last    mask    // and in the last row
	columns mask    // all columns
	far     mask    // number of rows from the next to the last
}

// step is a function in assembly. It takes states from one level and appends those
// of their children that can have completions to the next, until few states are
// left or the next level is full; with flush, until none is left or it is full. It
// returns 0; but the step for a row with two below appends nothing, and returns the
// number of completions.
//
// It takes some 0.1 ms at most: a level's states, and those in flight, have at most
// 32 squares each, and every round of the loop tries one in each lane.
type step func(from, to *level, s *sight, flush bool) uint64

// vectorCounter counts with steps of one instruction set.
type vectorCounter struct {
	levels [queens.MaxN]level // first, to lie on cache lines
	sights [queens.MaxN]sight
	// steps[i] is the step for a row with i rows below it, the last element the
	// one for all rows further up.
	steps []step
	calls uint // of steps, so far

	// Of the current call of Count:
	ctx     context.Context
	pulse   *atomic.Uint64
	deepest int // the last row that is searched in steps
	found   uint64
}

func newVectorCounter(steps []step) *vectorCounter {
	c := &vectorCounter{steps: steps}
	c.clear()
	return c
}

func (c *vectorCounter) clear() {
	for i := range c.levels {
		c.levels[i].clear()
	}
}

func (c *vectorCounter) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	c.ctx, c.pulse, c.found = ctx, pulse, 0
	c.look(b)
	top := b.N
	for _, p := range prefixes {
		switch l := &c.levels[p.Row%queens.MaxN]; {
		case p.Row == b.N:
			c.found++
		case p.Row > c.deepest:
			c.found += lower(b.Allow[p.Row+1:b.N], p.Free(b), p.Cols, p.Left, p.Right)
		case p.Free(b) != 0:
			top = min(top, p.Row)
			l.cols[l.n], l.left[l.n], l.right[l.n] = p.Cols, p.Left, p.Right
			l.n++
			if l.n > full && !c.advance(top) {
				return 0, c.abandon()
			}
		}
	}
	c.drain(top)
	if ctx.Err() != nil {
		return 0, c.abandon()
	}
	return c.found, nil
}

// abandon drops the search and returns why the context ended.
func (c *vectorCounter) abandon() error {
	c.clear()
	return context.Cause(c.ctx)
}

// look fills in the sights for a board.
func (c *vectorCounter) look(b *queens.Board) {
	last := b.N - 1
	c.deepest = last - 2
	for row := range c.deepest + 1 {
		s := &c.sights[row]
		*s = sight{
			row:     spread(b.Allow[row]),
			last:    spread(b.Allow[last]),
			columns: spread(b.Columns()),
			far:     spread(uint32(last - row - 1)),
		}
		for i := range s.ahead {
			if next := row + 1 + i; next <= last {
				s.ahead[i] = spread(b.Allow[next])
			}
		}
	}
}

// advance steps from the deepest level that holds enough, until none does from
// row top down. It reports false when the context ended first.
func (c *vectorCounter) advance(top int) bool {
	for row := c.deepest; row >= top; {
		if c.levels[row].n < enough {
			row--
			continue
		}
		if !c.step(row, false) {
			return false
		}
		row = min(row+1, c.deepest)
	}
	return true
}

// drain steps until every level from row top down is empty, or the context ends.
func (c *vectorCounter) drain(top int) {
	for c.advance(top) && top <= c.deepest && c.step(top, true) {
		if c.levels[top].empty() {
			top++
		}
	}
}

// patience is the number of steps, of some 0.1 ms at most, between two looks at the
// context.
const patience = 64

// step makes one step from a row and reports whether to go on.
func (c *vectorCounter) step(row int, flush bool) bool {
	if c.calls++; c.calls%patience == 0 {
		c.pulse.Add(1)
		if c.ctx.Err() != nil {
			return false
		}
	}
	s := c.steps[min(c.sights[row].below(), len(c.steps)-1)]
	c.found += s(&c.levels[row], &c.levels[row+1], &c.sights[row], flush)
	return true
}

// below returns the number of rows below the sight's.
func (s *sight) below() int { return int(s.far[0]) + 1 }

// packs and spreads are orders of lanes for VPERMD, one for each mask of lanes:
// packs[m] brings the lanes in m to the front, spreads[m] spreads lanes from the
// front over those in m. Elsewhere they don't matter.
var packs, spreads = orders()

func orders() (packs, spreads [256]mask) {
	for m := range packs {
		for rest := uint8(m); rest != 0; rest &= rest - 1 {
			lane, rank := bits.TrailingZeros8(rest), bits.OnesCount8(uint8(m))-bits.OnesCount8(rest)
			packs[m][rank], spreads[m][lane] = uint32(lane), uint32(rank)
		}
	}
	return packs, spreads
}
