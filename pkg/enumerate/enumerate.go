// Package enumerate lists the solutions of a board, in a fixed order, one at a time. To count
// solutions, use a kernel.
package enumerate

import (
	"context"
	"iter"
	"math/bits"

	"nqueens/pkg/queens"
)

// Boards yields every solution of a valid board in lexicographic order. A solution is the column of
// the queen on each row. Boards holds one solution at a time, and searches only as far as its
// consumer asks.
//
// The yielded slice is reused. The consumer must not change it, and must clone it to keep it beyond
// the next solution.
//
// Two solutions may be hours apart, so the sequence also ends when ctx ends, within milliseconds.
// If ctx.Err() is nil after the last solution, the sequence is complete.
func Boards(ctx context.Context, b queens.Board) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		s := search{ctx: ctx, board: b, columns: make([]int, b.N), yield: yield}
		s.from(queens.Prefix{})
	}
}

// pollFreeRows is the number of last rows that are searched without polling the context.
const pollFreeRows = 10

type search struct {
	ctx     context.Context
	board   queens.Board
	columns []int // columns[:row] has the columns of the queens of the current prefix
	yield   func([]int) bool
}

// from yields the completions of a prefix, in lexicographic order. It returns false if the consumer
// wants no more, or ctx has ended.
func (s *search) from(p queens.Prefix) bool {
	if p.Row == s.board.N {
		return s.yield(s.columns)
	}
	if p.Row < s.board.N-pollFreeRows && s.ctx.Err() != nil {
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
