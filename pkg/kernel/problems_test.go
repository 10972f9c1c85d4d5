package kernel_test

import (
	"math/bits"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
)

// A plain search of the problems of a batch finds as many completions as a kernel. The boards are
// full, or have one row with a single square; the prefixes have several depths.
func TestProblems(t *testing.T) {
	reference := kerneltest.NewCounter(t, kernel.Reference())
	problems := new(kernel.Problems)
	for n := 1; n <= 9; n++ {
		for _, fixed := range []int{-1, 0, n / 2, n - 1} {
			board := queens.FullBoard(n)
			if fixed >= 0 {
				board.Allow[fixed] = 1 << (n / 3)
			}
			prefixes := append(twoRowsOf(&board), queens.Prefix{})
			var pulse atomic.Uint64
			want, err := reference.Count(t.Context(), &board, prefixes, &pulse)
			if err != nil {
				t.Fatal(err)
			}
			var got uint64
			problems.Start(&board, prefixes)
			for p, states := problems.Take(); len(states) > 0; p, states = problems.Take() {
				rows := p.Rows(nil)
				if len(rows) > 0 && rows[len(rows)-1].Gap != 0 {
					t.Fatalf("n=%d: rows %+v", n, rows)
				}
				for _, s := range states {
					got += completions(rows, s.Below(p.First()))
				}
			}
			if got != want {
				t.Errorf("n=%d with row %d fixed: %d completions, want %d", n, fixed, got, want)
			}
		}
	}
}

// completions counts the ways to place a queen on each row.
func completions(rows []kernel.Row, s kernel.State) (found uint64) {
	if len(rows) == 0 {
		return 1
	}
	free := rows[0].Allow &^ (s.Cols | s.Left | s.Right)
	if len(rows) == 1 {
		return uint64(bits.OnesCount32(free))
	}
	for ; free != 0; free &= free - 1 {
		queen := free & -free
		found += completions(rows[1:], kernel.State{
			Cols: s.Cols | queen, Left: (s.Left | queen) << rows[0].Gap,
			Right: (s.Right | queen) >> rows[0].Gap,
		})
	}
	return found
}

// twoRowsOf returns all prefixes of two rows, none on a board of one row.
func twoRowsOf(b *queens.Board) []queens.Prefix {
	if b.N < 2 {
		return nil
	}
	return twoRows(b)
}
