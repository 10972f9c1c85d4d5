package halves

import "math/bits"

// half makes the half-boards of one half, for one row set.
type half struct {
	n       int // side of the board
	columns int // of the half, which has as many rows
	strips  [4]eighths
	one     []quarter // of the first two strips, on the rows of set
	other   []quarter // of the other strips, on the other rows
	crosser crosser
	poll    func() bool

	// What fill makes next: half-boards with long queens on long diagonals. The first quarters are
	// on the rows of set, and begin with number first. The second ones begin with number block.
	long, set, block, first int
}

// quarter is a quarter as masks of diagonals, as in an [eighth].
type quarter struct{ clash, mask uint64 }

// long returns the number of queens on long diagonals, 0 to 2.
func (q quarter) long() int { return int(q.mask>>62&1 + q.mask>>63) }

// reserve makes room for the half-boards of a half with the given number of columns, of a board of
// side n, and chooses the kernel.
func (h *half) reserve(n, columns int, k Kernel) {
	h.n, h.columns = n, columns
	for i := range h.strips {
		h.strips[i].reserve(columns, stripWidth(columns, i))
	}
	h.one = make([]quarter, factorial(columns/2))
	h.other = make([]quarter, factorial(columns-columns/2))
	h.crosser.kernel, h.crosser.tables = k, new(tables[narrow])
	h.crosser.used = max(1, (2*(n-1)+chunk-1)/chunk)
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
	h.long, h.set, h.block, h.first = long, 1<<(h.columns/2)-1, 0, 0
	h.join()
}

// join makes the quarters on the rows of h.set, and those on the other rows.
func (h *half) join() {
	h.one = join(h.one, &h.strips[0], &h.strips[1], h.set)
	h.other = join(h.other, &h.strips[2], &h.strips[3], (1<<h.columns-1)&^h.set)
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

// fill appends half-boards to a slice, within its capacity, and reports whether there are more. It
// leaves places unused that may be too few for the next ones.
func (h *half) fill(to []uint64) (filled []uint64, more bool) {
	for {
		for ; h.block < len(h.other); h.block += lanes {
			h.crosser.load(h.other[h.block:min(h.block+lanes, len(h.other))], h.long)
			for ; h.first < len(h.one); h.first += crossRound {
				if cap(to)-len(to) < roundMasks {
					return to, true
				}
				to = h.crosser.cross(to, h.one[h.first:min(h.first+crossRound, len(h.one))])
			}
			h.first = 0
		}
		h.block = 0
		h.set = next(h.set, h.columns)
		if h.set == 0 || !h.poll() {
			return to, false
		}
		h.join()
	}
}

// next returns the next greater set with as many rows, or 0 if none has only the first rows, as
// many as the half has columns.
func next(set, columns int) int {
	if set == 0 {
		return 0
	}
	lowest := set & -set
	carried := set + lowest
	set = carried | (set^carried)/lowest>>2
	if set>>columns != 0 {
		return 0
	}
	return set
}
