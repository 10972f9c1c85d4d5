package split_test

import (
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/testkit"
)

// For each prefix there are queens that lead to it, on squares that its board allows.
func TestQueensLeadToTheirPrefix(t *testing.T) {
	rng := testkit.Rand(t)
	for n := 1; n <= 9; n++ {
		for depth := range n + 1 {
			board := randomBoard(rng, n, rng.IntN(4))
			for want := range split.Prefixes(board, depth) {
				columns, found := want.Queens(&board)
				var got queens.Prefix
				for _, column := range columns {
					if square := uint32(1) << column; got.Free(&board)&square != 0 {
						got = got.Place(&board, square)
					}
				}
				if !found || columns == nil || got != want {
					t.Fatalf("n = %d: queens on %v (found %v) lead to %+v, want %+v", n, columns, found, got, want)
				}
			}
		}
	}
}

// No queens lead to masks that attack too little, or that are no prefix. The search for them ends, also
// on the largest board.
func TestNoQueensLeadToWrongMasks(t *testing.T) {
	board := queens.FullBoard(8)
	large := queens.FullBoard(queens.MaxN)
	all := large.Columns()
	for _, c := range []struct {
		board  *queens.Board
		prefix queens.Prefix
	}{
		{&board, queens.Prefix{Row: 1, Cols: 1}},
		{&board, queens.Prefix{Row: 2, Cols: 3, Left: 0xff, Right: 0xff}},
		{&board, queens.Prefix{Row: 1, Cols: 1 << 9}},
		{&board, queens.Prefix{Row: -1}},
		{&large, queens.Prefix{Row: queens.MaxN, Cols: all}},
		{&large, queens.Prefix{Row: 31, Cols: all >> 1, Left: all, Right: all}},
	} {
		if columns, found := c.prefix.Queens(c.board); found {
			t.Errorf("queens on %v lead to %+v", columns, c.prefix)
		}
	}
}
