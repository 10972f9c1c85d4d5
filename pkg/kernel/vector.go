//go:build (amd64 || arm64) && !purego

package kernel

import (
	"context"
	"math"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// The vector kernels search depth first, but with many states at once. Each row has a queue of
// states that need a queen in that row. A step takes states from the queue of one row into the
// lanes of vectors, and appends their children to the queue of the next row. A lane that has tried
// all squares of its state takes the next state, so few lanes are idle before the end of a flush.
// The search steps from the deepest queue that holds at least minBatch states, which bounds the
// length of the queues. If no queue holds that many, it flushes the topmost queue that has states:
// it steps until none is left there.

const (
	// laneCount is the greatest number of states that a queue keeps in lanes between two steps.
	laneCount = 128
	// capacity is the number of states for which each buffer of a queue has room. It is chosen so that
	// the three buffers of a queue begin at different offsets modulo 4096 bytes, and the queues in use
	// fit into the L2 cache. With 2288 or 3312 states a count took 0.97 to 1.08 of the time.
	capacity = 4064
	// highWater is the greatest length of a queue to which a step appends another round of children. A
	// round makes at most laneCount children, and a flush writes up to laneCount idle states behind
	// the last state.
	highWater = capacity - 2*laneCount
	// minBatch is the least number of states for which a step is worth its fixed cost.
	minBatch = 512
)

// word is a mask of a lane: a bit for each column.
type word interface{ uint16 | uint32 }

// queue holds the states that need a queen in one row.
type queue[T word] struct {
	// lanes holds the vectors with which the next step begins. Each lane has a state (cols, left,
	// right), and in free the free squares that are still to be tried. An idle lane has no free
	// square, and all its columns are taken.
	lanes struct{ cols, left, right, free [laneCount]T }
	// The first n entries of the buffers are states as in [queens.Prefix]. Each has at least one free
	// square. left may have bits beyond the board.
	cols, left, right [capacity]T
	n                 int
	_                 [56]byte // fills the last cache line
}

// clear removes all states.
func (q *queue[T]) clear() {
	for i := range laneCount {
		q.lanes.cols[i], q.lanes.free[i] = ^T(0), 0
	}
	q.n = 0
}

// rowMasks holds what a step from one row must know about the board.
type rowMasks struct {
	row      uint32    // squares allowed in the row
	nextRows [5]uint32 // squares allowed in the rows after it
	last     uint32    // squares allowed in the last row
	columns  uint32    // all columns of the board that the lanes hold
	// shifts[0] moves diagonals from the row to the next, shifts[i] for i from 1 to 4 from the next
	// row to the i-th after it, and shifts[5] from the next row to the last.
	shifts [6]shift
	_      [48]byte // fills the cache line
	// vectors has each of these words in all lanes, for the steps of instruction sets that have a
	// function spread.
	vectors [20][8]uint64
}

// shift holds the operands with which a step moves diagonals down by some number of rows.
type shift struct{ left, right uint32 }

// newShift returns the shift with these operands.
func newShift[T word](left, right int) shift {
	return shift{repeat[T](uint32(left)), repeat[T](uint32(right))}
}

// repeat returns a 32-bit word in which each lane has the mask or operand x.
func repeat[T word](x uint32) uint32 { return uint32(T(x)) * (math.MaxUint32 / uint32(^T(0))) }

// step is a function in assembly. It takes states from one queue and appends their children to the
// next, except children that its tests drop (see docs/kernels.md). It ends when the next queue
// holds more than highWater states. Before that, a flush ends only when no state is left, and any
// other step when too few are left to refill every lane. It returns 0. The step for a row with two
// rows below appends nothing and returns the number of completions.
//
// A step takes at most about 0.1 ms: the states of a queue and its lanes have at most 32 squares
// each, and every round of the loop tries one square in each lane.
type step[T word] func(from, to *queue[T], masks *rowMasks, flush bool) uint64

// instructionSet has the functions of an instruction set for lanes of type T, and their constants.
// For AVX2 and AVX-512, internal/asm generates both (run scripts/generate); for NEON they are
// written by hand.
type instructionSet[T word] struct {
	// steps[i] are the steps for a row with i rows below it, from i = 2 on. The last element is also
	// for rows with more rows below.
	steps []steps[T]
	// shifts[i] moves diagonals i rows down. shifts[0] is not used.
	shifts [queens.MaxN]shift
	// spread is a function in assembly that sets the vectors of a number of rowMasks, at least one. It
	// writes the part of each vector that the steps read. It is nil if the steps broadcast the words
	// themselves.
	spread func(masks *rowMasks, rows int)
}

// steps are the steps for rows with the same number of rows below.
type steps[T word] struct {
	ahead int     // number of rows below the row at which a step looks, besides the last row
	dense step[T] // if no gap is between the row and the last of these rows
	gaps  step[T] // otherwise
}

// call is the state of one call of Count.
type call struct {
	ctx   context.Context
	pulse *atomic.Uint64
	found uint64 // completions so far
	ticks uint   // ticks so far
}

// pollInterval is the number of ticks between two polls of the context. Each step, each queen
// placed in an outer column, each residue and each call of searchFew is a tick, so a tick takes at
// most about 0.1 ms.
const pollInterval = 64

// tick is called for each small part of the search. In every pollInterval-th call it increments the
// pulse, and returns false if the context has ended.
func (c *call) tick() bool {
	c.ticks++
	if c.ticks%pollInterval != 0 {
		return true
	}
	c.pulse.Add(1)
	return c.ctx.Err() == nil
}

// search is a depth-first search with the steps of one instruction set.
type search[T word] struct {
	*instructionSet[T]
	*call
	queues  []queue[T]
	masks   []rowMasks
	chosen  []step[T] // the step of each row
	deepest int       // last row that is searched in steps
}

// newSearch returns a search of problems with at most the given number of rows.
func newSearch[T word](set *instructionSet[T], c *call, rows int) *search[T] {
	s := &search[T]{
		instructionSet: set, call: c,
		queues: make([]queue[T], rows), masks: make([]rowMasks, rows), chosen: make([]step[T], rows),
	}
	s.clear()
	return s
}

// clear removes all states.
func (s *search[T]) clear() {
	for i := range s.queues {
		s.queues[i].clear()
	}
}

// view says which columns of the board the lanes hold, and where the search starts.
type view struct {
	low     int    // the first column
	columns uint32 // the columns of the board in the lanes; bit 0 is column low
	filled  uint32 // the columns of the board whose queens the states do not include
	first   int    // the number of rows from the row of the states down to the first open row
}

// count adds the number of completions of the states to found. There must be at least three rows.
// Bit 0 of their Allow is the first column of the view, and the view must have every column that
// needs a queen. count returns false if the context has ended; then the search must be cleared.
func (s *search[T]) count(rows []Row, states []State, v view) bool {
	s.prepare(rows, v.columns)
	top, allow := &s.queues[0], T(rows[0].Allow)
	filled, low := T(v.filled>>v.low), v.low&31
	for _, x := range states {
		x = x.Below(v.first)
		cols, left, right := T(x.Cols>>low)|filled, T(x.Left>>low), T(x.Right>>low)
		if allow&^(cols|left|right) == 0 {
			continue
		}
		top.cols[top.n], top.left[top.n], top.right[top.n] = cols, left, right
		top.n++
		if top.n > highWater && !s.process(0, 0) {
			return false
		}
	}
	return s.drain()
}

// prepare chooses the steps of the rows and computes their masks.
func (s *search[T]) prepare(rows []Row, columns uint32) {
	last := len(rows) - 1
	s.deepest = last - 2
	toLast := uint32(0) // rows from the next row to the last
	for i := s.deepest; i >= 0; i-- {
		m, steps := &s.masks[i], &s.steps[min(last-i, len(s.steps)-1)]
		toLast += rows[i+1].Gap
		m.row, m.last, m.columns = repeat[T](rows[i].Allow), repeat[T](rows[last].Allow),
			repeat[T](columns)
		m.shifts[5] = s.shifts[toLast]
		for j, next := range rows[i+1:][:steps.ahead] {
			m.nextRows[j] = repeat[T](next.Allow)
		}
		s.chosen[i] = steps.dense
		if hasGaps(rows[i:][:steps.ahead]) {
			s.chosen[i] = steps.gaps
			m.shifts[0] = s.shifts[rows[i].Gap]
			distance := uint32(0) // from the next row
			for j, next := range rows[i+1:][:steps.ahead-1] {
				distance += next.Gap
				m.shifts[j+1] = s.shifts[distance]
			}
		}
	}
	if s.spread != nil {
		s.spread(&s.masks[0], s.deepest+1)
	}
}

// hasGaps reports whether one of the rows is not directly above the next.
func hasGaps(rows []Row) bool {
	for _, r := range rows {
		if r.Gap != 1 {
			return true
		}
	}
	return false
}

// process always steps from the deepest queue with at least minBatch states, until row top and all
// rows below it have queues with fewer. Rows below the given row must already have queues with
// fewer. process returns false if the context ended first.
func (s *search[T]) process(top, row int) bool {
	for row >= top {
		if s.queues[row].n < minBatch {
			row--
			continue
		}
		if !s.step(row, false) {
			return false
		}
		row = min(row+1, s.deepest)
	}
	return true
}

// drain steps until every queue is empty. Only the first queue may have minBatch states or more at
// the start. drain returns false if the context ended first.
func (s *search[T]) drain() bool {
	for top, grown := 0, 0; top <= s.deepest; {
		if !s.process(top, grown) || !s.step(top, true) {
			return false
		}
		grown = min(top+1, s.deepest)
		// A flush stops early only if the next queue is full.
		if top == s.deepest || s.queues[top+1].n <= highWater {
			top++
		}
	}
	return true
}

// step makes one step from a row. It returns false if the context has ended.
func (s *search[T]) step(row int, flush bool) bool {
	if !s.tick() {
		return false
	}
	s.found += s.chosen[row](&s.queues[row], &s.queues[row+1], &s.masks[row], flush)
	return true
}
