package halves

import (
	"math/bits"
	"slices"

	"nqueens/pkg/queens"
)

// A half of the board is cut into four strips of columns. An eighth is a way to put a queen in each
// column of a strip, on rows of the half, without attacks. Two eighths of neighboring strips make a
// quarter, and two quarters make a half-board, if their queens stand on different rows and do not
// attack each other.

// eighth is an eighth as masks of diagonals. A diagonal is in a mask if it has squares on both
// sides of a border between columns; see crossing.
type eighth struct {
	inner uint64 // the border in the middle of the quarter
	clash uint64 // the border in the middle of the half
	mask  uint64 // the border between the halves, as in a half-board, and the bits of longDiagonals
}

// The bits of a mask for its queens on the long diagonals, which have no other bit in a mask.
const (
	onMain = 1 << 62 // row = column
	onAnti = 1 << 63 // row + column = n-1
	onLong = onMain | onAnti
)

const eighthSize = 3 * 8 // bytes

// eighths lists the eighths of a strip by their rows: those on a set of rows are all[from[set]] to
// all[from[set+1]-1]. A set has a bit for each row of the half, from the top down.
type eighths struct {
	all  []eighth
	from []uint32
}

// reserve makes room for the eighths of a strip of some columns of a half.
func (e *eighths) reserve(columns, width int) {
	e.all, e.from = make([]eighth, 0, fallingFactorial(columns, width)), make([]uint32, 1<<columns+1)
}

// on returns the eighths on a set of rows.
func (e *eighths) on(set int) []eighth { return e.all[e.from[set]:e.from[set+1]] }

// squares says where queens may stand.
type squares int

const (
	anywhere squares = iota
	// not on a long diagonal
	offDiagonals
	// in the centre of a board of odd side, and otherwise not on a long diagonal
	withCentre
)

// allows returns the rows of a column on which queens may stand.
func (w squares) allows(n, column int) uint32 {
	all := uint32(1<<n - 1)
	switch {
	case w == anywhere:
		return all
	case w == withCentre && column == n/2:
		return 1 << column
	}
	return all &^ (1<<column | 1<<(n-1-column))
}

// crossing returns the diagonals of a square that have squares both in the columns below the border
// and in those from it on. Diagonals of equal row+column have bits 0..n-2, those of equal
// column-row bits n-1..2n-3.
func crossing(n, border, row, column int) uint64 {
	mask := uint64(0)
	if sum := row + column - border; 0 <= sum && sum < n-1 {
		mask |= 1 << sum
	}
	if difference := column - row + n - 1 - border; 0 <= difference && difference < n-1 {
		mask |= 1 << (difference + n - 1)
	}
	return mask
}

// maskOf returns the mask of a square.
func maskOf(n, row, column int) uint64 {
	mask := crossing(n, west(n), row, column) &^ longDiagonals(n)
	switch onMainDiagonal, onAntiDiagonal := row == column, row+column == n-1; {
	case onMainDiagonal == onAntiDiagonal: // neither, or the centre
	case onMainDiagonal:
		mask |= onMain
	case onAntiDiagonal:
		mask |= onAnti
	}
	return mask
}

// longDiagonals returns the bits that the two long diagonals have in crossing(n, west(n), …).
func longDiagonals(n int) uint64 {
	if n == 1 {
		return 0 // no diagonal has squares in both halves
	}
	long := n - 1 - west(n)
	return 1<<long | 1<<(long+n-1)
}

// strip lists eighths.
type strip struct {
	low, high int    // the columns low..high-1
	rows      uint32 // the rows of the half
	allow     [queens.MaxN]uint32
	squares   [queens.MaxN][queens.MaxN]eighth // by column and row
	index     [queens.MaxN]int                 // for each row of the half, its bit in a set
	found     []eighth
	sets      []int // for each eighth found, its rows
}

// reserve makes room for the eighths of a half with the given number of columns.
func (s *strip) reserve(columns int) {
	most := fallingFactorial(columns, stripWidth(columns, 3))
	s.found, s.sets = make([]eighth, 0, most), make([]int, 0, most)
}

// stripWidth returns the number of columns of strip i, 0 to 3, of a half with the given number of
// columns. The last strip is the widest.
func stripWidth(columns, i int) int {
	quarter := columns / 2
	if i >= 2 {
		quarter = columns - quarter
	}
	if i%2 == 0 {
		return quarter / 2
	}
	return quarter - quarter/2
}

// fallingFactorial returns n·(n-1)·…·(n-k+1), the greatest number of ways to put queens in k
// columns on n rows.
func fallingFactorial(n, k int) int {
	product := 1
	for i := range k {
		product *= n - i
	}
	return product
}

func factorial(n int) int { return fallingFactorial(n, n) }

// list sets e to the eighths of the strip, for rows that have sets below the given number.
func (s *strip) list(e *eighths, sets int) {
	s.found, s.sets = s.found[:0], s.sets[:0]
	s.place(s.low, 0, 0, 0, 0, eighth{})
	e.from, e.all = e.from[:sets+1], e.all[:len(s.found)]
	clear(e.from)
	for _, set := range s.sets {
		e.from[set+1]++
	}
	for set := range sets {
		e.from[set+1] += e.from[set]
	}
	for i, set := range slices.Backward(s.sets) {
		e.from[set+1]--
		e.all[e.from[set+1]] = s.found[i]
	}
	copy(e.from, e.from[1:])
	e.from[sets] = uint32(len(e.all))
}

// place puts queens in the columns from the given one on, in every way. Rows in taken have a queen;
// rows in up and down are attacked along a diagonal.
func (s *strip) place(column int, taken, up, down uint32, set int, e eighth) {
	if column == s.high {
		s.found, s.sets = append(s.found, e), append(s.sets, set)
		return
	}
	for free := s.rows & s.allow[column] &^ (taken | up | down); free != 0; free &= free - 1 {
		row, queen := bits.TrailingZeros32(free), free&-free
		square := &s.squares[column][row]
		s.place(column+1, taken|queen, (up|queen)<<1, (down|queen)>>1, set|s.index[row],
			eighth{e.inner | square.inner, e.clash | square.clash, e.mask | square.mask})
	}
}
