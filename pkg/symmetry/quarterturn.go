package symmetry

import (
	"context"
	"math/bits"

	"nqueens/pkg/queens"
)

// QuarterTurn returns the number of solutions of side n that a quarter turn maps to themselves
// (https://oeis.org/A033148). It takes well under a second for any n. If ctx ends, QuarterTurn
// returns context.Cause(ctx).
//
// The quarter turn takes a queen from (r, c) to (c, n-1-r), then to (n-1-r, n-1-c), then to (n-1-c,
// r). So queens stand in groups of four, except the queen in the center of an odd side. Rows r and
// n-1-r form a pair, with the number min(r, n-1-r); columns form pairs likewise. The four queens
// stand on the rows and columns of two pairs, the pair of r and the pair of c. The pairs differ,
// because no queen outside the center stands on a long diagonal. So the pairs are matched two by
// two, and n/2 rounded down is even. The search places the next queen on the upper row of the first
// free pair.
//
// A queen on row r and column c has d = c - r and t = c + r - (n-1). One of the four queens has (d,
// t), the next (-t, d), then (-d, -t), then (t, -d). So |d| and |t| of a group must differ from |d|
// and |t| of every other group, and that is enough. Within a group, |d| and |t| differ, because |d|
// = |t| only on the middle row and column.
//
// The left-right reflection maps these solutions to each other, and moves the top queen to the
// other half. So the search places the top queen only in the left half, and counts each solution
// twice.
func QuarterTurn(ctx context.Context, n int) (uint64, error) {
	switch err := queens.ValidateN(n); {
	case err != nil:
		return 0, err
	case n == 1:
		return 1, nil
	case n%4 > 1:
		return 0, nil
	}
	s := quarterTurn{n: n, free: 1<<(n/2) - 1, diagonals: 1}
	var found uint64
	for column := 1; column < n/2; column++ {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		found += s.place(0, column)
	}
	return 2 * found, nil
}

// quarterTurn is a board with queens in groups of four.
type quarterTurn struct {
	n         int
	free      uint32 // pairs of rows and columns that hold no queen
	diagonals uint64 // a bit for each |d| and |t| of the queens, and bit 0 for the long diagonals
}

// count returns the number of ways to fill the board.
func (s quarterTurn) count() uint64 {
	if s.free == 0 {
		return 1
	}
	row := bits.TrailingZeros32(s.free)
	var found uint64
	for pairs := s.free & (s.free - 1); pairs != 0; pairs &= pairs - 1 {
		pair := bits.TrailingZeros32(pairs)
		found += s.place(row, pair) + s.place(row, s.n-1-pair)
	}
	return found
}

// place places a queen and its images, and returns the number of ways to fill the board after that.
// The queen's row must be in the upper half, and the number of its column's pair must be greater
// than that of its row's pair.
func (s quarterTurn) place(row, column int) uint64 {
	d, minusT := column-row, s.n-1-column-row // neither is negative
	attacked := uint64(1)<<d | uint64(1)<<minusT
	if s.diagonals&attacked != 0 {
		return 0
	}
	s.free &^= 1<<row | 1<<min(column, s.n-1-column)
	s.diagonals |= attacked
	return s.count()
}
