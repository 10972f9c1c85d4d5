// Package enumerate lists the boards themselves: every solution, in a fixed order,
// one at a time. To count solutions, use a kernel.
package enumerate

import (
	"context"
	"iter"
	"math/bits"

	"nqueens/pkg/queens"
)

// Boards returns every solution of a valid board: the column of the queen on each
// row, in lexicographic order, so that boards with the top queen farthest left
// come first. It holds one board at a time, and searches no further than its
// consumer asks.
//
// The yielded slice is the same each time: it must not be changed, and holds the
// board only until the next one. Use [slices.Clone] to keep it.
//
// There may be hours between two boards. The sequence therefore also ends, early
// and within milliseconds, when ctx does; ctx.Err() tells which end it was.
func Boards(ctx context.Context, b queens.Board) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		s := search{ctx: ctx, board: b, columns: make([]int, b.N), yield: yield}
		s.from(queens.Prefix{})
	}
}

// unchecked is the number of last rows searched without a look at the context.
const unchecked = 10

type search struct {
	ctx     context.Context
	board   queens.Board
	columns []int // columns[:row] are those of the queens of the prefix at hand
	yield   func([]int) bool
}

// from yields the completions of a prefix, the lowest column first, and returns
// false when no more are wanted.
func (s *search) from(p queens.Prefix) bool {
	if p.Row == s.board.N {
		return s.yield(s.columns)
	}
	if p.Row < s.board.N-unchecked && s.ctx.Err() != nil {
		return false
	}
	for free := p.Free(&s.board); free != 0; free &= free - 1 {
		queen := free & -free
		s.columns[p.Row] = bits.TrailingZeros32(queen)
		if !s.from(p.Place(&s.board, queen)) {
			return false
		}
	}
	return true
}
