package halves

import (
	"math/bits"
	"math/rand/v2"
	"sync"
)

// half makes the half-boards of one half, for one row set.
type half struct {
	n       int // side of the board
	columns int // of the half, which has as many rows
	strips  [4]eighths
	wanted  kinds // of half-boards, which fill makes
	to      room  // where they go

	mu sync.Mutex // in a phase; between two phases only the goroutine of Count is here
	// set is the rows of the first two strips for the next maker, or -1 if there are none.
	set int
	// Makers without work, and those that have stopped because the room was full.
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
	once, twice  []uint64 // half-boards that are not in the room yet
}

// quarter is a quarter as masks of diagonals, as in an [eighth].
type quarter struct{ clash, mask uint64 }

// long returns the number of queens on long diagonals, 0 to 2.
func (q quarter) long() int { return int(q.mask>>62&1 + q.mask>>63) }

// longs is a set of numbers of queens on long diagonals: bit i is for i queens.
type longs uint8

const noLong, oneLong, twoLong longs = 1 << 0, 1 << 1, 1 << 2

func (l longs) has(long int) bool { return l>>long&1 != 0 }

// kinds says which half-boards are wanted, and which of them count once and which twice.
type kinds struct{ once, twice longs }

// room is where half-boards go: those that count once from its start on, those that count twice
// from its end back. What is left between them is scratch memory for a sort.
type room struct {
	mu          sync.Mutex // in a phase
	masks       []uint64
	once, twice int // numbers of half-boards
	scratch     int // the least number of masks that must be left
}

// reset empties the room, and sets its memory.
func (r *room) reset(masks []uint64, scratch int) {
	r.masks, r.once, r.twice, r.scratch = masks, 0, 0, scratch
}

// append appends half-boards, and reports whether there was room for them, and for a sort of either
// list. Members copy at the same time, each to its own part. So the half-boards are read only after
// the phase.
func (r *room) append(once, twice []uint64) bool {
	r.mu.Lock()
	toOnce, toTwice := r.once+len(once), r.twice+len(twice)
	if toOnce+toTwice+max(toOnce, toTwice, r.scratch) > len(r.masks) {
		r.mu.Unlock()
		return false
	}
	onceAt, twiceAt := r.once, len(r.masks)-toTwice
	r.once, r.twice = toOnce, toTwice
	r.mu.Unlock()
	copy(r.masks[onceAt:], once)
	copy(r.masks[twiceAt:], twice)
	return true
}

// lists returns what is in the room: half-boards that count once, scratch memory, and half-boards
// that count twice.
func (r *room) lists() (once, scratch, twice []uint64) {
	end := len(r.masks) - r.twice
	return r.masks[:r.once], r.masks[r.once:end], r.masks[end:]
}

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
			once:  make([]uint64, 0, roundMasks),
			twice: make([]uint64, 0, roundMasks),
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

// start makes fill begin.
func (h *half) start(wanted kinds) {
	h.wanted, h.set = wanted, h.firstSet()
	h.idle, h.paused = append(h.idle, h.paused...), h.paused[:0]
}

// firstSet returns the first set of rows of the first two strips.
func (h *half) firstSet() int { return 1<<(h.columns/2) - 1 }

// fill is a phase of a crew. It puts half-boards into the room, until there is no more room or no
// half-board is left.
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
	m.block, m.first = 0, 0
	m.once, m.twice = m.once[:0], m.twice[:0]
}

// sample appends a sample of the half-boards that the given kinds want to a list: up to
// sampleMasks of them.
func (h *half) sample(to []uint64, wanted kinds, random *rand.PCG) []uint64 {
	h.start(wanted)
	m := h.idle[0]
	// A larger board takes longer, so its sample may be larger.
	sets := min(max(32, 1<<h.columns/32), samplesFrom)
	apart := max(1, int(choose[h.columns][h.columns/2])/sets) // from one set to the next
	for i, set := 0, h.set; set >= 0; i, set = i+1, next(set, h.columns) {
		if i%apart == apart/2 {
			m.start(set)
			to = m.sample(to, random)
		}
	}
	return to
}

const (
	// samplesFrom is the greatest number of sets of rows of the first two strips that a sample has
	// half-boards for, up to rounding, and sampleEach the greatest number of half-boards for each.
	samplesFrom, sampleEach = 256, 16
	sampleMasks             = 2 * samplesFrom * sampleEach
)

// sample appends some of the half-boards that the maker can make.
func (m *maker) sample(to []uint64, random *rand.PCG) []uint64 {
	if len(m.one) == 0 || len(m.other) == 0 {
		return to
	}
	block := int(random.Uint64()%uint64(len(m.other))) / lanes * lanes
	first := int(random.Uint64()%uint64(len(m.one))) / crossRound * crossRound
	m.crosser.load(m.other[block:min(block+lanes, len(m.other))], m.half.wanted)
	one := m.one[first:min(first+crossRound, len(m.one))]
	m.once, m.twice = m.crosser.cross(m.once, m.twice, one)
	made := len(m.once) + len(m.twice)
	for i := range min(made, sampleEach) {
		if at := i * made / min(made, sampleEach); at < len(m.once) {
			to = append(to, m.once[at])
		} else {
			to = append(to, m.twice[at-len(m.once)])
		}
	}
	return to
}

// make puts half-boards into the room of the half. It returns false if the room is full or poll
// returned false.
func (m *maker) make(by *member) (ended bool) {
	for by.poll() {
		if m.block >= len(m.other) {
			return true
		}
		m.crosser.load(m.other[m.block:min(m.block+lanes, len(m.other))], m.half.wanted)
		for ; m.first < len(m.one); m.first += crossRound {
			if len(m.once)+len(m.twice) == 0 {
				one := m.one[m.first:min(m.first+crossRound, len(m.one))]
				m.once, m.twice = m.crosser.cross(m.once, m.twice, one)
			}
			if !m.half.to.append(m.once, m.twice) {
				return false
			}
			m.once, m.twice = m.once[:0], m.twice[:0]
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
