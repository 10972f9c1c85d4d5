package halves

import (
	"math/bits"
	"sync"
)

// half makes the half-boards of one half, for one row set.
type half struct {
	n       int // side of the board
	columns int // of the half, which has as many rows
	strips  [4]eighths
	long    int     // queens on long diagonals of the half-boards that fill makes
	to      *sorted // where they go

	mu sync.Mutex // in a phase; between two phases only the goroutine of Count is here
	// set is the rows of the first two strips for the next maker, or -1 if there are none.
	set int
	// Makers without work, and those that have stopped because the list was full.
	idle, paused []*maker
}

// maker makes the half-boards whose queens of the first two strips stand on a set of rows, for one
// member of a crew.
type maker struct {
	half    *half
	one     []quarter // of the first two strips
	other   []quarter // of the other strips, on the other rows
	crosser crosser
	// It goes on with the quarters one[first:] and other[block:].
	block, first int
	made         []uint64 // half-boards for which the list had no room
}

// quarter is a quarter as masks of diagonals, as in an [eighth].
type quarter struct{ clash, mask uint64 }

// long returns the number of queens on long diagonals, 0 to 2.
func (q quarter) long() int { return int(q.mask>>62&1 + q.mask>>63) }

// reserve makes room for the half-boards of a half with the given number of columns, of a board of
// side n, with a number of makers, and chooses the kernel.
func (h *half) reserve(n, columns, makers int, k Kernel) {
	h.n, h.columns = n, columns
	for i := range h.strips {
		h.strips[i].reserve(columns, stripWidth(columns, i))
	}
	h.idle, h.paused = make([]*maker, 0, makers), make([]*maker, 0, makers)
	for range makers {
		m := &maker{
			half:  h,
			one:   make([]quarter, factorial(columns/2)),
			other: make([]quarter, factorial(columns-columns/2)),
			made:  make([]uint64, 0, roundMasks),
		}
		m.crosser.kernel, m.crosser.tables = k, new(tables[narrow])
		m.crosser.used = max(1, (2*(n-1)+chunk-1)/chunk)
		h.idle = append(h.idle, m)
	}
}

// list lists the eighths of the half, whose first column is low and whose queens stand on the given
// rows.
func (h *half) list(s *strip, rows uint32, low int, where squares) {
	s.rows = rows
	set := 1
	for rest := rows; rest != 0; rest &= rest - 1 {
		s.index[bits.TrailingZeros32(rest)] = set
		set <<= 1
	}
	middle := low + h.columns/2
	for i := range h.strips {
		s.low, s.high = low, low+stripWidth(h.columns, i)
		inner := s.high // the border in the middle of the quarter
		if i%2 == 1 {
			inner = s.low
		}
		for column := s.low; column < s.high; column++ {
			s.allow[column] = where.allows(h.n, column)
			for row := range h.n {
				s.squares[column][row] = eighth{
					inner: crossing(h.n, inner, row, column),
					clash: crossing(h.n, middle, row, column),
					mask:  maskOf(h.n, row, column),
				}
			}
		}
		s.list(&h.strips[i], set)
		low = s.high
	}
}

// start makes fill begin with the half-boards that have the given number of queens on long
// diagonals.
func (h *half) start(long int) {
	h.long, h.set = long, 1<<(h.columns/2)-1
	h.idle, h.paused = append(h.idle, h.paused...), h.paused[:0]
}

// fill is a phase of a crew. It appends half-boards to the list, until no room or no half-board is
// left.
func (h *half) fill(m *member) {
	for m.stays() {
		maker := h.take()
		if maker == nil {
			return
		}
		ended := maker.make(m)
		h.give(maker, ended)
		if !ended {
			return
		}
	}
}

// take returns a maker that has something to make, or nil if nothing is left.
func (h *half) take() (m *maker) {
	h.mu.Lock()
	set := h.set
	if last := len(h.paused) - 1; last >= 0 {
		m, h.paused = h.paused[last], h.paused[:last]
		h.mu.Unlock()
		return m
	}
	if last := len(h.idle) - 1; set >= 0 {
		m, h.idle = h.idle[last], h.idle[:last]
		h.set = next(set, h.columns)
	}
	h.mu.Unlock()
	if m != nil {
		m.start(set)
	}
	return m
}

// give gives a maker back, which has ended or has to go on.
func (h *half) give(m *maker, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ended {
		h.idle = append(h.idle, m)
	} else {
		h.paused = append(h.paused, m)
	}
}

// more reports whether fill has left something to make.
func (h *half) more() bool { return h.set >= 0 || len(h.paused) > 0 }

// start makes the quarters on the rows of a set, and those on the other rows.
func (m *maker) start(set int) {
	strips := &m.half.strips
	m.one = join(m.one, &strips[0], &strips[1], set)
	m.other = join(m.other, &strips[2], &strips[3], (1<<m.half.columns-1)&^set)
	m.block, m.first, m.made = 0, 0, m.made[:0]
}

// make appends half-boards to the list of the half. It returns false if the list is full or poll
// returned false.
func (m *maker) make(by *member) (ended bool) {
	for by.poll() {
		if m.block >= len(m.other) {
			return true
		}
		m.crosser.load(m.other[m.block:min(m.block+lanes, len(m.other))], m.half.long)
		for ; m.first < len(m.one); m.first += crossRound {
			if len(m.made) == 0 {
				m.made = m.crosser.cross(m.made, m.one[m.first:min(m.first+crossRound, len(m.one))])
			}
			if !m.half.to.append(m.made) {
				return false
			}
			m.made = m.made[:0]
		}
		m.first = 0
		m.block += lanes
	}
	return false
}

// join returns the quarters of two strips on a set of rows. It puts them into to.
func join(to []quarter, one, other *eighths, set int) []quarter {
	to = to[:cap(to)]
	n := 0
	for part := set; ; part = (part - 1) & set {
		second := other.on(set ^ part)
		for _, a := range one.on(part) {
			for j := range second {
				b := &second[j]
				to[n] = quarter{a.clash | b.clash, a.mask | b.mask}
				n += isZero(a.inner & b.inner)
			}
		}
		if part == 0 {
			return to[:n]
		}
	}
}

// isZero returns 1 if x is 0, and otherwise 0.
func isZero(x uint64) int { return int(((x - 1) &^ x) >> 63) }

// next returns the next greater set with as many rows, or -1 if none has only the first rows, as
// many as the half has columns.
func next(set, columns int) int {
	if set == 0 {
		return -1
	}
	lowest := set & -set
	carried := set + lowest
	set = carried | (set^carried)/lowest>>2
	if set>>columns != 0 {
		return -1
	}
	return set
}
