package symmetry

import (
	"context"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// HalfTurn returns the number of solutions of side n that a half turn maps to
// themselves (https://oeis.org/A032522), counted on so many threads, at least 1. An
// error is the cause of ctx's end.
//
// The half turn takes the queen of row r on column c to row n-1-r, column n-1-c. So
// the upper half of the board decides the lower one, and the search places two queens
// at a time. On an odd side the queen of the middle row stands in the centre. No other
// stands on one of the two long diagonals: its image would as well.
//
// Mirrors and quarter turns take such solutions to such solutions, and the search finds
// a quarter of them. Of the four sides of the board, top and bottom have their queens at
// the same distance a from the nearer corner, left and right at the same distance b.
// Neither is 0, which is on a long diagonal. A quarter turn swaps a and b, so there are
// as many with a > b as with a < b. A left-right mirror keeps both and moves the top
// queen from column a to column n-1-a, which is another one: on the middle column stands
// the queen in the centre. So with the top queen on column a < n-1-a,
//
//   - those with b < a count four times, and row b has a queen on column 0 (the left
//     one) or n-1 (the image of the left one);
//   - those with b = a count twice, and row a has a queen on column n-1: column 0 is
//     attacked by the top queen.
func HalfTurn(ctx context.Context, n, threads int) (uint64, error) {
	switch err := queens.ValidateN(n); {
	case err != nil:
		return 0, err
	case threads < 1:
		return 0, fmt.Errorf("a count needs at least 1 thread, not %d", threads)
	case n == 1:
		return 1, nil
	}
	var total atomic.Uint64
	work := make(chan halfTurn)
	var searching sync.WaitGroup
	for range threads {
		searching.Go(func() {
			for s := range work {
				if ctx.Err() == nil { // what is left is soon passed over
					total.Add(s.weight * s.count(s.done, s.on))
				}
			}
		})
	}
	for a := 1; 2*a < n-1; a++ {
		for b := 1; b <= a; b++ {
			cutHalfTurn(n, a, b, n-1, work)
			if b < a {
				cutHalfTurn(n, a, b, 0, work)
			}
		}
	}
	close(work)
	searching.Wait()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return total.Load(), nil
}

// attacked has a bit for each column and each diagonal that queens attack. Falling
// diagonals have the same column-row, and bit column-row+n-1; rising ones the same
// column+row, which is their bit.
type attacked struct {
	falling, rising uint64
	columns         uint32
}

// with returns what either attacks.
func (a attacked) with(b attacked) attacked {
	return attacked{a.falling | b.falling, a.rising | b.rising, a.columns | b.columns}
}

// hits reports whether one queen would stand on a column or diagonal of another.
func (a attacked) hits(b attacked) bool {
	return a.falling&b.falling|a.rising&b.rising|uint64(a.columns&b.columns) != 0
}

// pair returns what a queen and its image under the half turn attack.
func pair(n, row, column int) attacked {
	queen := func(row, column int) attacked {
		return attacked{falling: 1 << (column - row + n - 1), rising: 1 << (column + row), columns: 1 << column}
	}
	return queen(row, column).with(queen(n-1-row, n-1-column))
}

// halfTurn is a search, as far as it has come.
type halfTurn struct {
	rows   []halfTurnRow // of the upper half, in the order in which they are filled
	done   int           // rows that are
	on     attacked
	weight uint64 // of each solution
}

// halfTurnRow is a row to fill.
type halfTurnRow struct {
	all             uint32 // every column
	falling, rising uint8  // the diagonals through column 0 of the row
	pairs           [queens.MaxN]attacked
}

// free returns the columns on which a queen may stand.
func (r *halfTurnRow) free(on *attacked) uint32 {
	return r.all &^ (on.columns | uint32(on.falling>>(r.falling&63)) | uint32(on.rising>>(r.rising&63)))
}

// cutHalfTurn sends on the parts of the search with the top queen on column a, and one
// on column side, 0 or n-1, of row b.
//
// Rows are filled from the middle on: the queens there attack most, and the search has
// half as many nodes as from the top.
func cutHalfTurn(n, a, b, side int, work chan<- halfTurn) {
	// The queen in the centre of an odd side attacks the long diagonals and the middle
	// column. On an even side they are out of bounds, and there is no such column.
	s := halfTurn{on: attacked{falling: 1 << (n - 1), rising: 1 << (n - 1)}, weight: 2}
	if n%2 == 1 {
		s.on.columns = 1 << (n / 2)
	}
	if b < a {
		s.weight = 4
	}
	for _, fixed := range []attacked{pair(n, 0, a), pair(n, b, side)} {
		if s.on.hits(fixed) {
			return
		}
		s.on = s.on.with(fixed)
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
	s.cut(work)
}

// cutAt is the number of rows that are filled in every way before threads share what is
// left: parts of milliseconds for n = 27.
const cutAt = 2

func (s halfTurn) cut(work chan<- halfTurn) {
	if s.done == min(cutAt, len(s.rows)) {
		work <- s
		return
	}
	row := &s.rows[s.done]
	before := s.on
	s.done++
	for free := row.free(&before); free != 0; free &= free - 1 {
		s.on = before.with(row.pairs[bits.TrailingZeros32(free)])
		s.cut(work)
	}
}

// count returns the number of ways to fill the rows from done on.
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
		found += s.count(done+1, on.with(row.pairs[bits.TrailingZeros32(free)&31]))
	}
	return found
}
