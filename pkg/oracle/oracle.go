// Package oracle counts and lists solutions by plain backtracking over arrays of flags, one for
// each column and diagonal. Tests compare the rest of the program with it. It imports nothing else
// of the project, uses no bitmasks, and is too slow for anything but tests.
package oracle

import (
	"iter"
	"slices"
)

// Everywhere allows every square.
func Everywhere(row, col int) bool { return true }

// Count returns the number of ways to place one queen on each row from len(prefix) to n-1, on
// allowed squares, so that none of these queens attacks another queen.
//
// prefix[row] is the column of the queen that already stands on that row; if it is negative, the
// row is empty. The queens of the prefix may stand on squares that are not allowed, and may attack
// each other.
func Count(n int, allowed func(row, col int) bool, prefix []int) uint64 {
	s := newSearch(n, allowed)
	for row, col := range prefix {
		if col >= 0 {
			s.set(row, col, true)
		}
	}
	var found uint64
	s.from(len(prefix), func() bool { found++; return true })
	return found
}

// Boards returns every solution of the full board of side n, as the column of the queen on each
// row, in lexicographic order. The caller owns each slice.
func Boards(n int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		s := newSearch(n, Everywhere)
		s.from(0, func() bool { return yield(slices.Clone(s.columns)) })
	}
}

// search is a board with queens on it.
type search struct {
	n       int
	allowed func(row, col int) bool
	columns []int // the column of the queen on each row; rows below the last placed queen are stale

	// Whether a queen stands on a column, on a diagonal of equal row+col, and on a diagonal of equal
	// row-col. The index of the last is row-col+n, which is not negative.
	column, sum, difference []bool
}

func newSearch(n int, allowed func(row, col int) bool) *search {
	return &search{
		n: n, allowed: allowed, columns: make([]int, n),
		column: make([]bool, n), sum: make([]bool, 2*n), difference: make([]bool, 2*n),
	}
}

// from places queens on the given row and the rows below it in every way, and calls visit for each
// way. It returns false as soon as visit does.
func (s *search) from(row int, visit func() bool) bool {
	if row == s.n {
		return visit()
	}
	for col := range s.n {
		if !s.allowed(row, col) || s.attacked(row, col) {
			continue
		}
		s.columns[row] = col
		s.set(row, col, true)
		more := s.from(row+1, visit)
		s.set(row, col, false)
		if !more {
			return false
		}
	}
	return true
}

func (s *search) attacked(row, col int) bool {
	return s.column[col] || s.sum[row+col] || s.difference[row-col+s.n]
}

// set places a queen on the square, or removes it.
func (s *search) set(row, col int, queen bool) {
	s.column[col], s.sum[row+col], s.difference[row-col+s.n] = queen, queen, queen
}
