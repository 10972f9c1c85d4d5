package halves

import "math/bits"

// half makes the half-boards of one half, for one row set.
type half struct {
	n       int // side of the board
	columns int // of the half, which has as many rows
	strips  [4]eighths
	one     [3]quarters // the quarters of the first two strips on set, by their number of queens on long diagonals
	other   [3]quarters // those of the other strips, on the other rows
	crosser crosser
	poll    func() bool

	// What fill makes next: half-boards with long queens on long diagonals. The first quarter is on
	// the rows of set, and has queens on long diagonals. The second quarters begin with number block.
	long, set, queens, block int
}

// quarters lists quarters as masks of diagonals, as in an [eighth].
type quarters struct{ clash, mask []uint64 }

// reserve makes room for the half-boards of a half with the given number of columns, of a board of
// side n.
func (h *half) reserve(n, columns int) {
	h.n, h.columns = n, columns
	for i := range h.strips {
		h.strips[i].reserve(columns, stripWidth(columns, i))
	}
	for i := range h.one {
		h.one[i].reserve(factorial(columns / 2))
		h.other[i].reserve(factorial(columns - columns/2))
	}
}

func (q *quarters) reserve(most int) { q.clash, q.mask = make([]uint64, most), make([]uint64, most) }

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
					crossing(h.n, inner, row, column), crossing(h.n, middle, row, column), maskOf(h.n, row, column),
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
	h.long, h.set, h.queens, h.block = long, 1<<(h.columns/2)-1, 0, 0
	h.join()
}

// join makes the quarters on the rows of h.set, and those on the other rows.
func (h *half) join() {
	join(&h.one, &h.strips[0], &h.strips[1], h.set)
	join(&h.other, &h.strips[2], &h.strips[3], (1<<h.columns-1)&^h.set)
}

// join sets q to the quarters of two strips on a set of rows.
func join(q *[3]quarters, one, other *eighths, set int) {
	var n [3]int
	for i := range q {
		q[i].clash, q[i].mask = q[i].clash[:cap(q[i].clash)], q[i].mask[:cap(q[i].mask)]
	}
	for part := set; ; part = (part - 1) & set {
		first, second := one.on(part), other.on(set^part)
		if len(first) > 0 && len(second) > 0 {
			for i := range first {
				a := &first[i]
				for j := range second {
					b := &second[j]
					mask := a.mask | b.mask
					long := bits.OnesCount64(mask&onLong) % 4
					to, at := &q[long], n[long]
					to.clash[at], to.mask[at] = a.clash|b.clash, mask&^onLong
					n[long] += isZero(a.inner & b.inner)
				}
			}
		}
		if part == 0 {
			break
		}
	}
	for i := range q {
		q[i].clash, q[i].mask = q[i].clash[:n[i]], q[i].mask[:n[i]]
	}
}

// isZero returns 1 if x is 0, and otherwise 0.
func isZero(x uint64) int { return int(((x - 1) &^ x) >> 63) }

// fill appends half-boards to a slice, within its capacity, and reports whether there are more. It
// leaves places unused that may be too few for the next ones.
func (h *half) fill(to []uint64) (filled []uint64, more bool) {
	for {
		for ; h.queens <= h.long; h.queens++ {
			one, other := &h.one[h.queens], &h.other[h.long-h.queens]
			for ; h.block < len(other.clash) && len(one.clash) > 0; h.block += 64 {
				if cap(to)-len(to) < 64*len(one.clash) {
					return to, true
				}
				end := min(h.block+64, len(other.clash))
				to = h.crosser.cross(to, 2*(h.n-1), one, quarters{other.clash[h.block:end], other.mask[h.block:end]})
			}
			h.block = 0
		}
		h.queens = 0
		if h.set = next(h.set, h.columns); h.set == 0 || !h.poll() {
			return to, false
		}
		h.join()
	}
}

// next returns the next greater set with as many rows, or 0 if none has only the first size rows.
func next(set, size int) int {
	if set == 0 {
		return 0
	}
	lowest := set & -set
	carried := set + lowest
	set = carried | (set^carried)/lowest>>2
	if set>>size != 0 {
		return 0
	}
	return set
}

// crosser makes half-boards from quarters.
type crosser struct {
	block [64]uint64
	table [crossChunks][1 << crossChunk]uint64
}

// crossChunk is the number of bits of a clash with which a table is looked up.
const crossChunk, crossChunks = 5, 13

// cross appends the half-boards of the pairs of a quarter of each list that do not attack each
// other. The second list has at most 64 quarters, which it compares at once: bit i of each word
// stands for number i. A clash has clashBits bits.
func (c *crosser) cross(to []uint64, clashBits int, one *quarters, other quarters) []uint64 {
	for i := range c.block {
		c.block[i] = ^uint64(0)
	}
	copy(c.block[:], other.clash)
	transpose(&c.block)
	used := max(1, (clashBits+crossChunk-1)/crossChunk)
	for i := range used {
		t := &c.table[i]
		t[0] = ^uint64(0)
		if i == 0 {
			t[0] = ^uint64(0) >> (64 - len(other.clash))
		}
		for x := 1; x < len(t); x++ {
			t[x] = t[x&(x-1)] &^ c.block[(crossChunk*i+bits.TrailingZeros(uint(x)))%64]
		}
	}
	n := len(to)
	to = to[:cap(to)]
	masks := &c.block
	copy(masks[:], other.mask)
	for i, clash := range one.clash {
		fit := c.table[0][clash%(1<<crossChunk)]
		for t := 1; t < used; t++ {
			clash >>= crossChunk
			fit &= c.table[t%crossChunks][clash%(1<<crossChunk)]
		}
		mask := one.mask[i]
		for ; fit != 0; fit &= fit - 1 {
			to[n] = mask | masks[bits.TrailingZeros64(fit)%64]
			n++
		}
	}
	return to[:n]
}

// transpose swaps bit i of word k with bit k of word i.
func transpose(m *[64]uint64) {
	mask := uint64(1)<<32 - 1
	for step := 32; step != 0; step >>= 1 {
		for i := 0; i < 64; i = (i + step + 1) &^ step {
			swap := (m[i]>>step ^ m[i+step]) & mask
			m[i] ^= swap << step
			m[i+step] ^= swap
		}
		mask ^= mask << (step / 2)
	}
}
