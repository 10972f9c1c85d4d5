package symmetry

import (
	"context"
	"fmt"
	"iter"
	"math/bits"

	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
)

// HalfTurn returns the number of solutions of side n that a half turn maps to themselves
// (https://oeis.org/A032522). It counts on the given number of threads, at least 1. If ctx ends,
// HalfTurn returns context.Cause(ctx).
//
// The half turn takes the queen of row r on column c to row n-1-r, column n-1-c. So the upper half
// of the board decides the lower half, and the search places two queens at a time. On an odd side
// the queen of the middle row stands in the center. No other queen stands on one of the two long
// diagonals, because its image would stand there too.
//
// Reflections and quarter turns map these solutions to each other, so the search needs to find only
// some of them. The queens of the top and the bottom side have the same distance a from the nearer
// corner. The queens of the left and the right side have the same distance b. Neither a nor b is 0,
// because a corner is on a long diagonal. A quarter turn swaps a and b, so as many solutions have a
// > b as have a < b. A left-right reflection keeps a and b, and moves the top queen from column a
// to column n-1-a, which is another column: the middle column has its queen in the center. So the
// search places the top queen on a column a < n-1-a, and
//
//   - counts each solution with b < a four times; row b has a queen on column 0 (the queen of the
//     left side) or n-1 (the image of that queen);
//   - counts each solution with b = a twice; row a has a queen on column n-1, because the top queen
//     attacks row a on column 0.
func HalfTurn(ctx context.Context, n, threads int) (uint64, error) {
	switch err := queens.ValidateN(n); {
	case err != nil:
		return 0, err
	case threads < 1:
		return 0, fmt.Errorf("a count needs at least 1 thread, not %d", threads)
	case n == 1:
		return 1, nil
	}
	var total uint64
	err := parallel.InOrderOn(ctx, threads, halfTurns(n),
		func(ctx context.Context, s halfTurn) (uint64, error) {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			return s.weight * s.count(s.done, s.attacked), nil
		}, func(found uint64) error {
			total += found
			return nil
		})
	return total, err
}

// halfTurns yields the subproblems for a board of side n.
func halfTurns(n int) iter.Seq[halfTurn] {
	return func(yield func(halfTurn) bool) {
		for a := 1; 2*a < n-1; a++ {
			for b := 1; b <= a; b++ {
				if !splitHalfTurn(n, a, b, n-1, yield) || b < a && !splitHalfTurn(n, a, b, 0, yield) {
					return
				}
			}
		}
	}
}

// attacked has a bit for each line (a column or a diagonal) that queens attack. All squares of a
// falling diagonal have the same difference of column and row. Its bit in falling is this
// difference + n - 1. All squares of a rising diagonal have the same sum of column and row. This
// sum is its bit in rising.
type attacked struct {
	falling, rising uint64
	columns         uint32
}

// union returns the lines of a and of b.
func (a attacked) union(b attacked) attacked {
	return attacked{a.falling | b.falling, a.rising | b.rising, a.columns | b.columns}
}

// conflicts reports whether a line of a is also a line of b.
func (a attacked) conflicts(b attacked) bool {
	return a.falling&b.falling|a.rising&b.rising|uint64(a.columns&b.columns) != 0
}

// pair returns the lines that a queen and its image under the half turn attack.
func pair(n, row, column int) attacked {
	queen := func(row, column int) attacked {
		return attacked{falling: 1 << (column - row + n - 1), rising: 1 << (column + row),
			columns: 1 << column}
	}
	return queen(row, column).union(queen(n-1-row, n-1-column))
}

// halfTurn is the state of a search.
type halfTurn struct {
	rows     []halfTurnRow // rows of the upper half, in the order in which they are filled
	done     int           // how many of the rows are filled
	attacked attacked
	weight   uint64 // how often each solution counts
}

// halfTurnRow is a row to fill.
type halfTurnRow struct {
	all             uint32 // every column
	falling, rising uint8  // bits of the diagonals through column 0 of the row
	pairs           [queens.MaxN]attacked
}

// free returns the columns on which a queen may stand.
func (r *halfTurnRow) free(on *attacked) uint32 {
	return r.all &^ (on.columns | uint32(on.falling>>(r.falling&63)) |
		uint32(on.rising>>(r.rising&63)))
}

// splitHalfTurn yields the subproblems in which the top queen stands on column a, and the queen of
// row b on the column that the parameter side gives: 0 or n-1. It returns false if yield does.
//
// It orders the rows from the middle outwards. Queens near the middle attack the most squares, so
// the search has half as many nodes as from the top.
func splitHalfTurn(n, a, b, side int, yield func(halfTurn) bool) bool {
	// The queen in the center of an odd side attacks the long diagonals and the middle column. On an
	// even side no queen stands on a long diagonal either, and there is no middle column.
	s := halfTurn{attacked: attacked{falling: 1 << (n - 1), rising: 1 << (n - 1)}, weight: 2}
	if n%2 == 1 {
		s.attacked.columns = 1 << (n / 2)
	}
	if b < a {
		s.weight = 4
	}
	for _, fixed := range []attacked{pair(n, 0, a), pair(n, b, side)} {
		if s.attacked.conflicts(fixed) {
			return true
		}
		s.attacked = s.attacked.union(fixed)
	}
	for row := n/2 - 1; row > 0; row-- {
		if row == b {
			continue
		}
		fill := halfTurnRow{all: uint32(1<<uint(n) - 1), falling: uint8(n - 1 - row), rising: uint8(row)}
		for column := range n {
			fill.pairs[column] = pair(n, row, column)
		}
		s.rows = append(s.rows, fill)
	}
	return s.split(yield)
}

// splitDepth is the number of rows that are filled before the threads share the subproblems. For n
// = 27, each subproblem takes a fraction of a millisecond.
const splitDepth = 2

func (s halfTurn) split(yield func(halfTurn) bool) bool {
	if s.done == min(splitDepth, len(s.rows)) {
		return yield(s)
	}
	row := &s.rows[s.done]
	before := s.attacked
	s.done++
	for free := row.free(&before); free != 0; free &= free - 1 {
		s.attacked = before.union(row.pairs[bits.TrailingZeros32(free)])
		if !s.split(yield) {
			return false
		}
	}
	return true
}

// count returns the number of ways to fill s.rows[done:] if the queens of the other rows attack the
// lines in the parameter on.
func (s *halfTurn) count(done int, on attacked) uint64 {
	if done == len(s.rows) {
		return 1
	}
	row := &s.rows[done]
	free := row.free(&on)
	if done == len(s.rows)-1 {
		return uint64(bits.OnesCount32(free))
	}
	var found uint64
	for ; free != 0; free &= free - 1 {
		found += s.count(done+1, on.union(row.pairs[bits.TrailingZeros32(free)&31]))
	}
	return found
}
