//go:build amd64 && !purego

package kernel

import (
	"context"
	"math/bits"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// The vector kernels search depth first, but a row at a time. Each row has a queue of states
// that need a queen in that row. A step takes states from one row's queue and appends their
// children to the next row's queue, many at once in the lanes of vectors. A lane that has
// tried all its squares takes the next state, so no lane idles. The search always steps from
// the deepest queue that holds at least minBatch states, which bounds the length of the
// queues.

const (
	// laneCount is the number of states that a queue keeps in lanes between two steps.
	laneCount = 64
	// capacity is the number of states in a queue's buffers. It keeps a queue's three buffers
	// apart modulo 4096 bytes, and the queues in use in the L2 cache.
	capacity = 4080
	// highWater is the greatest length of a queue at which a step appends another round of
	// children. A round makes at most laneCount children; the other half of the room is for
	// the idle states that a flush writes behind the last state.
	highWater = capacity - 2*laneCount
	// minBatch is the number of states from which on a step is worth its fixed cost.
	minBatch = 512
)

// queue holds the states that need a queen in one row.
type queue struct {
	// lanes holds the vectors of the next step: for each lane a state (cols, left, right)
	// and its free squares that are still to be tried. An idle lane has no free square, and
	// all its columns are taken.
	lanes struct{ cols, left, right, free [laneCount]uint32 }
	// The first n entries of the buffers are states as in [queens.Prefix], each with a free
	// square. left may have bits beyond the board.
	cols, left, right [capacity]uint32
	n                 int
	_                 [56]byte // fills the last cache line
}

// clear removes all states.
func (l *queue) clear() {
	for i := range laneCount {
		l.lanes.cols[i], l.lanes.free[i] = ^uint32(0), 0
	}
	l.n = 0
}

func (l *queue) empty() bool {
	var free uint32
	for _, f := range l.lanes.free {
		free |= f
	}
	return l.n == 0 && free == 0
}

// broadcastMask is the same mask in each of eight lanes, the form of an AVX2 operand.
type broadcastMask [8]uint32

func broadcast(x uint32) broadcastMask { return broadcastMask{x, x, x, x, x, x, x, x} }

// rowMasks holds the masks of the board that a step from one row needs.
type rowMasks struct {
	row       broadcastMask    // squares allowed in the row
	nextRows  [5]broadcastMask // in the rows after it
	last      broadcastMask    // in the last row
	columns   broadcastMask    // all columns
	lastShift broadcastMask    // number of rows from the next row to the last
}

// step is a function in assembly. It takes states from one queue and appends those of their
// children that may have completions to the next, until few states are left or the next
// queue is full; with flush, until no state is left or the next queue is full. It returns 0.
// The step for a row with two rows below appends nothing and returns the number of
// completions.
//
// A step takes about 0.1 ms at most: the states of a queue and its lanes have at most 32
// squares each, and every round of the loop tries one square in each lane.
type step func(from, to *queue, s *rowMasks, flush bool) uint64

// vectorCounter counts with the steps of one instruction set.
type vectorCounter struct {
	queues [queens.MaxN]queue // first in the struct, to be aligned to cache lines
	masks  [queens.MaxN]rowMasks
	// steps[i] is the step for a row with i rows below it; the last element serves all rows
	// further up.
	steps     []step
	stepCalls uint // number of steps so far

	// State of the current call of Count:
	ctx     context.Context
	pulse   *atomic.Uint64
	deepest int // last row that is searched in steps
	found   uint64
}

func newVectorCounter(steps []step) *vectorCounter {
	c := &vectorCounter{steps: steps}
	c.clear()
	return c
}

func (c *vectorCounter) clear() {
	for i := range c.queues {
		c.queues[i].clear()
	}
}

func (c *vectorCounter) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	c.ctx, c.pulse, c.found = ctx, pulse, 0
	c.prepare(b)
	top := b.N
	for _, p := range prefixes {
		switch l := &c.queues[p.Row%queens.MaxN]; {
		case p.Row == b.N:
			c.found++
		case p.Row > c.deepest:
			c.found += searchLast(b.Allow[p.Row+1:b.N], p.Free(b), p.Cols, p.Left, p.Right)
		case p.Free(b) != 0:
			top = min(top, p.Row)
			l.cols[l.n], l.left[l.n], l.right[l.n] = p.Cols, p.Left, p.Right
			l.n++
			if l.n > highWater && !c.process(top) {
				return 0, c.cancelled()
			}
		}
	}
	c.drain(top)
	if ctx.Err() != nil {
		return 0, c.cancelled()
	}
	return c.found, nil
}

// cancelled drops the search and returns the cause of the context.
func (c *vectorCounter) cancelled() error {
	c.clear()
	return context.Cause(c.ctx)
}

// prepare computes the row masks of a board.
func (c *vectorCounter) prepare(b *queens.Board) {
	last := b.N - 1
	c.deepest = last - 2
	for row := range c.deepest + 1 {
		s := &c.masks[row]
		*s = rowMasks{
			row:       broadcast(b.Allow[row]),
			last:      broadcast(b.Allow[last]),
			columns:   broadcast(b.Columns()),
			lastShift: broadcast(uint32(last - row - 1)),
		}
		for i := range s.nextRows {
			if next := row + 1 + i; next <= last {
				s.nextRows[i] = broadcast(b.Allow[next])
			}
		}
	}
}

// process steps from the deepest queue with at least minBatch states, until no queue from row
// top down has so many. It returns false if the context ended first.
func (c *vectorCounter) process(top int) bool {
	for row := c.deepest; row >= top; {
		if c.queues[row].n < minBatch {
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

// drain steps until every queue from row top down is empty or the context ends.
func (c *vectorCounter) drain(top int) {
	for c.process(top) && top <= c.deepest && c.step(top, true) {
		if c.queues[top].empty() {
			top++
		}
	}
}

// pollInterval is the number of steps, of about 0.1 ms at most, between two polls of the
// context.
const pollInterval = 64

// step makes one step from a row. It returns false if the context has ended.
func (c *vectorCounter) step(row int, flush bool) bool {
	if c.stepCalls++; c.stepCalls%pollInterval == 0 {
		c.pulse.Add(1)
		if c.ctx.Err() != nil {
			return false
		}
	}
	s := c.steps[min(c.masks[row].rowsBelow(), len(c.steps)-1)]
	c.found += s(&c.queues[row], &c.queues[row+1], &c.masks[row], flush)
	return true
}

// rowsBelow returns the number of rows below the row of the masks.
func (s *rowMasks) rowsBelow() int { return int(s.lastShift[0]) + 1 }

// compressPerm and expandPerm are permutations for VPERMD, one for each mask m of lanes:
// compressPerm[m] moves the lanes in m to the front, expandPerm[m] moves lanes from the front
// to those in m. Their other entries don't matter.
var compressPerm, expandPerm = permutations()

func permutations() (packs, spreads [256]broadcastMask) {
	for m := range packs {
		for rest := uint8(m); rest != 0; rest &= rest - 1 {
			lane, rank := bits.TrailingZeros8(rest), bits.OnesCount8(uint8(m))-bits.OnesCount8(rest)
			packs[m][rank], spreads[m][lane] = uint32(lane), uint32(rank)
		}
	}
	return packs, spreads
}
