package kerneltest

import (
	"context"
	"math/bits"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// windowKernel returns a counter that makes the mistake, or none.
func windowKernel(t *testing.T, fault fault) kernel.Counter {
	fake := &Fake{Count: windowCounter{fault}.Count}
	return NewCounter(t, fake.Kernel(t))
}

// windowCounter counts as a kernel with 16-bit words may: it fixes rows with a single allowed
// square, places the queens of outer columns, and searches the rows left in a window of 16 columns.
// It is written to be read, and slow. It makes one mistake if it is told to.
type windowCounter struct{ fault fault }

// branch is a part of the search: a board with fixed and placed queens, and what they leave.
type branch struct {
	board    queens.Board
	depth    int             // of the prefixes
	prefixes []queens.Prefix // that attack no fixed or placed queen
	rows     uint32          // with a fixed or placed queen
	columns  uint32          // with a fixed or placed queen
}

// Count implements the method of kernel.Counter.
func (c windowCounter) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, _ *atomic.Uint64) (uint64, error) {
	var found uint64
	board := *b
	for depth := range b.N + 1 {
		at := branch{board: board, depth: depth}
		for _, p := range prefixes {
			if p.Row == depth {
				at.prefixes = append(at.prefixes, p)
			}
		}
		if len(at.prefixes) == 0 || !c.fixRows(&at) {
			continue
		}
		found += c.count(at, 0, b.N)
		if c.fault == keepBoard {
			board = at.board
		}
	}
	return found, context.Cause(ctx)
}

// count counts the solutions of a branch whose columns outside lo to hi-1 are filled.
func (c windowCounter) count(at branch, lo, hi int) uint64 {
	if !c.fixRows(&at) || len(at.prefixes) == 0 {
		return 0
	}
	if hi-lo <= 16 {
		return c.countWindow(at, lo, hi)
	}
	col := lo
	if at.squares(lo) <= at.squares(hi-1) {
		lo++
	} else {
		hi--
		col = hi
	}
	if has(at.columns, col) {
		return c.count(at, lo, hi)
	}
	var found uint64
	filled := at
	filled.prefixes = nil
	for _, p := range at.prefixes {
		if has(p.Cols, col) {
			filled.prefixes = append(filled.prefixes, p)
		}
	}
	switch all := len(filled.prefixes) == len(at.prefixes); {
	case c.fault == dropFilled && !all:
	case c.fault == allFilled && len(filled.prefixes) > 0:
		return c.count(at, lo, hi)
	default:
		found += c.count(filled, lo, hi)
	}
	for row := at.depth; row < at.board.N; row++ {
		if !has(at.rows, row) && has(at.board.Allow[row], col) {
			next := at
			c.place(&next, queens.Square{Row: row, Column: col}, c.fault == placedAttackDown)
			if c.fault == keepPlaced {
				next.prefixes = at.prefixes
			}
			found += c.count(next, lo, hi)
		}
	}
	return found
}

// squares returns the number of allowed squares in a column.
func (at *branch) squares(col int) int {
	squares := 0
	for row := at.depth; row < at.board.N; row++ {
		squares += int(at.board.Allow[row] >> col & 1)
	}
	return squares
}

// fixRows places the queens of rows with a single allowed square, until there is no such row. It
// returns false if a row is left without a square.
func (c windowCounter) fixRows(at *branch) bool {
	first := at.depth
	if c.fault == fixAbove {
		first = 0
	}
	for {
		var single []queens.Square
		for row := first; row < at.board.N; row++ {
			switch allow := at.board.Allow[row]; {
			case has(at.rows, row):
			case allow == 0 && row >= at.depth:
				return false
			case bits.OnesCount32(allow) == 1:
				single = append(single, queens.Square{Row: row, Column: bits.TrailingZeros32(allow)})
			}
		}
		if len(single) == 0 {
			return true
		}
		for _, s := range single {
			if has(at.board.Allow[s.Row], s.Column) || c.fault == fixTogether {
				c.fix(at, s)
			}
		}
	}
}

// fix places the queen of a row with a single allowed square.
func (c windowCounter) fix(at *branch, s queens.Square) {
	before := *at
	c.place(at, s, c.fault == fixedAttackDown)
	switch c.fault {
	case keepFixed:
		at.prefixes = before.prefixes
	case forgetColumn:
		at.columns = before.columns
	}
}

// place places a queen on a square that no queen attacks, and drops the prefixes that attack it.
func (c windowCounter) place(at *branch, s queens.Square, onlyDown bool) {
	before := at.board
	at.board.Preplace(s.Row, s.Column)
	if onlyDown {
		copy(at.board.Allow[:s.Row], before.Allow[:s.Row])
	}
	at.rows |= 1 << s.Row
	at.columns |= 1 << s.Column
	var kept []queens.Prefix
	if c.fault == sharedList {
		kept = at.prefixes[:0]
	}
	for _, p := range at.prefixes {
		if !attacks(p, s) {
			kept = append(kept, p)
		}
	}
	at.prefixes = kept
}

// row is a row of the window without a fixed or placed queen.
type row struct {
	allow uint16
	gap   int // from the row before, or from the prefix's row
}

// countWindow counts the solutions of a branch whose columns outside the window are filled.
func (c windowCounter) countWindow(at branch, lo, hi int) uint64 {
	window := uint32(1<<hi - 1<<lo)
	var found uint64
	for _, p := range at.prefixes {
		left, right := c.outside(&at, p, lo, hi)
		rows := c.rowsLeft(&at, left, right, lo, hi)
		taken := p.Cols | at.columns | ^window
		if c.fault == wideBoard {
			taken = p.Cols | at.columns
		}
		found += c.search(rows, uint16(taken>>lo), uint16(p.Left>>lo), uint16(p.Right>>lo))
	}
	return found
}

// outside returns the diagonals of a prefix that are outside the window and enter it further down.
func (c windowCounter) outside(at *branch, p queens.Prefix, lo, hi int) (left, right uint32) {
	left, right = p.Left, p.Right
	switch first := at.prefixes[0]; c.fault {
	case ignoreLeft:
		left = 0
	case ignoreRight:
		right = 0
	case firstLeft:
		left = first.Left
	case firstRight:
		right = first.Right
	case ignoreFar:
		left &^= 1<<max(0, lo-8) - 1
		right &= 1<<min(at.board.N, hi+8) - 1
	}
	return left & (1<<lo - 1), right &^ (1<<hi - 1)
}

// rowsLeft returns the rows without a queen, from the top, without the squares that diagonals from
// outside attack.
func (c windowCounter) rowsLeft(at *branch, left, right uint32, lo, hi int) []row {
	var rows []row
	above := at.depth
	for i := at.depth; i < at.board.N; i++ {
		if has(at.rows, i) {
			continue
		}
		attacked := left<<(i-at.depth) | right>>(i-at.depth)
		if c.fault == ignoreInside {
			attacked &= 1<<lo | 1<<(hi-1)
		}
		window := uint32(1<<hi - 1<<lo)
		rows = append(rows, row{uint16((at.board.Allow[i] &^ attacked & window) >> lo), i - above})
		above = i
	}
	if c.fault == firstGapZero && len(rows) > 0 {
		rows[0].gap = 0
	}
	return rows
}

// search counts the ways to place queens on the rows. left and right are the squares attacked in
// the row above the gap of the first one.
func (c windowCounter) search(rows []row, taken, left, right uint16) uint64 {
	if len(rows) == 0 {
		if c.fault == nothingLeft {
			return 0
		}
		return 1
	}
	left, right = c.shift(left, right, rows[0].gap)
	free := rows[0].allow &^ (taken | left | right)
	if len(rows) == 2 {
		left, right = c.shift(left, right, rows[1].gap)
		return c.lastTwo(free, rows[1].allow&^(taken|left|right), ^taken, rows[1].gap)
	}
	var found uint64
	for ; free != 0; free &= free - 1 {
		queen := free & -free
		found += c.search(rows[1:], taken|queen, left|queen, right|queen)
	}
	return found
}

// lastTwo counts the ways to place queens on two rows, with the given free squares and open
// columns.
func (c windowCounter) lastTwo(first, second, open uint16, gap int) uint64 {
	if c.fault == lastGapOne {
		gap = 1
	}
	attacked, _ := c.shift(open, 0, gap)
	switch {
	case first == 0 || second == 0 || first|second != open || attacked&open != 0:
		return 0
	case first == open && second == open:
		return 2
	}
	return 1
}

// shift returns the squares attacked diagonally some rows further down.
func (c windowCounter) shift(left, right uint16, rows int) (uint16, uint16) {
	switch c.fault {
	case gapsOne:
		rows = min(rows, 1)
	case gapsModulo16:
		rows %= 16
	case wrapAround:
		return bits.RotateLeft16(left, rows), bits.RotateLeft16(right, -rows)
	}
	return left << rows, right >> rows
}
