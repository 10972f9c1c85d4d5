//go:build (amd64 || arm64) && !purego

package kernel

import "math/bits"

// 16-bit lanes hold a window of 16 columns. The columns outside it are the outer columns. Their
// queens are placed first, in every possible way. After that, the rows of these queens are no
// longer open, the other rows allow no square that these queens attack, and only columns in the
// window need a queen.
//
// A diagonal that leaves the window never returns. But a diagonal of a prefix may still be outside
// the window and enter it on a row below. Such diagonals are the residue of a state. States with
// the same residue are searched together, on rows without the squares that the residue attacks.
// docs/kernels.md draws the window.

// windowColumns is the number of columns that 16-bit lanes hold.
const windowColumns = 16

// outerColumns returns how many outer columns need a queen in at least one of the states.
func (c *vectorCounter) outerColumns(p *Problem, states []State) int {
	low, high, outer := 0, c.board.N, 0
	filled := p.filled | common(states)
	for high-low > windowColumns {
		var square uint32
		square, low, high = p.shrink(low, high, filled)
		if filled&square == 0 {
			outer++
		}
	}
	return outer
}

// placeOuter counts the completions of the states. It places queens in columns at the ends of
// low..high-1, until the columns that need a queen fit into a window. Columns outside low..high-1
// must not need a queen. It returns false if the context has ended.
func (c *vectorCounter) placeOuter(p *Problem, states []State, low, high int) bool {
	filled := p.filled | common(states)
	for high-low > windowColumns {
		var square uint32
		square, low, high = p.shrink(low, high, filled)
		if filled&square == 0 {
			return c.placeColumn(p, states, square, low, high)
		}
	}
	return c.searchWindow(p, states, low, high)
}

// placeColumn counts the completions of the states. On each open row that allows the column with
// the given bit, it places a queen there and calls placeOuter for the remaining columns
// low..high-1. For states that already have a queen in the column, it only calls placeOuter. It
// returns false if the context has ended.
func (c *vectorCounter) placeColumn(p *Problem, states []State, square uint32, low, high int) bool {
	n := partition(states, func(s State) bool { return s.Cols&square != 0 })
	if n > 0 && !c.placeOuter(p, states[:n], low, high) {
		return false
	}
	states = states[n:]
	next := &c.placed[high-low]
	for rest := p.open; rest != 0 && len(states) > 0; rest &= rest - 1 {
		row := bits.TrailingZeros32(rest) & 31
		if p.allow[row]&square == 0 {
			continue
		}
		if !c.tick() {
			return false
		}
		*next = *p
		if !next.place(row, square) {
			continue
		}
		if n := next.compatible(states, row, square); n > 0 &&
			!c.placeOuter(next, states[:n], low, high) {
			return false
		}
	}
	return true
}

// shrink removes the first or the last of the columns low..high-1: a filled one if possible, else
// the one with fewer allowed squares. It returns the bit of the removed column, and the remaining
// columns.
func (p *Problem) shrink(low, high int, filled uint32) (square uint32, newLow, newHigh int) {
	first, last := uint32(1)<<low, uint32(1)<<(high-1)
	atFirst := filled&first != 0
	if !atFirst && filled&last == 0 {
		balance := 0 // squares in the first column, minus those in the last
		for rest := p.open; rest != 0; rest &= rest - 1 {
			allow := p.allow[bits.TrailingZeros32(rest)&31]
			balance += int(allow>>low&1) - int(allow>>(high-1)&1)
		}
		atFirst = balance <= 0
	}
	if atFirst {
		return first, low + 1, high
	}
	return last, low, high - 1
}

// common returns the columns that hold a queen in all states.
func common(states []State) uint32 {
	cols := ^uint32(0)
	for _, s := range states {
		cols &= s.Cols
	}
	return cols
}

// searchWindow counts the completions of the states in 16-bit lanes. The columns low..high-1 must
// be at most windowColumns; the others must not need a queen. It returns false if the context has
// ended.
func (c *vectorCounter) searchWindow(p *Problem, states []State, low, high int) bool {
	rows, first := p.Rows(c.rows[:0]), p.First()
	if len(rows) < 3 {
		return c.searchFew(rows, states, first)
	}
	v := view{low: low, columns: c.board.Columns() >> low & (1<<windowColumns - 1), filled: p.filled,
		first: first}
	var buffer [windowColumns]Row
	for inWindow := buffer[:len(rows)]; len(states) > 0; {
		if !c.tick() {
			return false
		}
		residue := states[0].Below(first).residue(low, high)
		n := partition(states, func(s State) bool { return s.Below(first).residue(low, high) == residue })
		if enter(inWindow, rows, residue, low) && !c.narrow.count(inWindow, states[:n], v) {
			return false
		}
		states = states[n:]
	}
	return true
}

// residue returns the diagonals of a state that are outside the columns low..high-1 and move
// towards them.
func (s State) residue(low, high int) uint32 {
	return s.Left&(1<<low-1) | s.Right>>high<<high
}

// enter copies the rows of the board to the window, whose first column is low, without the squares
// that a residue attacks. It returns false if a row has no square left.
func enter(window, board []Row, residue uint32, low int) bool {
	left, right := residue&(1<<low-1), residue>>low<<low
	for i, r := range board {
		allow := r.Allow &^ (left | right) >> low & (1<<windowColumns - 1)
		if allow == 0 {
			return false
		}
		window[i] = Row{allow, r.Gap}
		left, right = left<<r.Gap, right>>r.Gap
	}
	return true
}
