package split

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
)

// If a manifest has too many tasks, NewIndex fails after it has used about as much time and memory
// as the allowed number takes. That matters because a manifest may be forged.
func TestTooManyTasks(t *testing.T) {
	classes, err := symmetry.Classes(32, queens.None)
	if err != nil {
		t.Fatal(err)
	}
	const pairs = 930 // ways to place queens on two rows
	for _, c := range []struct {
		depth    int
		most     uint64
		tooLarge bool
	}{{2, pairs, false}, {2, pairs - 1, true}, {7, pairs, true}, {30, pairs, true}} {
		x, err := NewIndex(t.Context(), queens.Prefixes,
			[]queens.ClassPlan{{Class: classes[0], Depth: c.depth, Batch: 1}}, c.most)
		if errors.Is(err, ErrTooLarge) != c.tooLarge || x.Tasks() > 2*c.most+markPrefixes {
			t.Errorf("depth %d, at most %d tasks: %d tasks, error %v", c.depth, c.most, x.Tasks(), err)
		}
	}
}

// leavesSquares reports whether each of the next two rows and the last row has a square that no
// queen attacks. The test compares this function with a search of every square. Some prefixes have
// fewer than two rows below them.
func TestLeavesSquares(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		b := queens.FullBoard(4 + rng.IntN(5))
		for row := range b.N {
			b.Allow[row] &= rng.Uint32() | rng.Uint32()
		}
		var p queens.Prefix
		var placed []queens.Square
		for p.Row < b.N {
			square := uint32(1) << rng.IntN(b.N)
			placed = append(placed, queens.Square{Row: p.Row, Column: bits.TrailingZeros32(square)})
			p = p.Place(&b, square)
			want := true
			for _, row := range []int{p.Row, p.Row + 1, b.N - 1} {
				has := row >= b.N || row < p.Row
				for column := range b.N {
					s := queens.Square{Row: row, Column: column}
					has = has || b.Allow[row]>>column&1 == 1 && !slices.ContainsFunc(placed, s.Attacks)
				}
				want = want && has
			}
			if got := leavesSquares(&b, p); got != want {
				t.Fatalf("seed %d: after %v: %v, want %v", seed, placed, got, want)
			}
		}
	}
}

// On a board that allows only the squares of one solution, kernels try one square in each row. For
// a full board the estimate is pinned, since its random numbers are the same on every machine.
func TestSearchCost(t *testing.T) {
	one, full := queens.FullBoard(8), queens.FullBoard(8)
	for row, column := range []int{3, 6, 2, 7, 1, 4, 0, 5} {
		one.Allow[row] = 1 << column
	}
	for depth := range 9 {
		if got := searchCost(&one, depth, 3); got != float64(8-depth) {
			t.Errorf("%v squares below depth %d, want %d", got, depth, 8-depth)
		}
		if got := Probe(one, 3)[depth]; got != 1 {
			t.Errorf("probes find %v prefixes of %d rows, want 1", got, depth)
		}
	}
	if got := searchCost(&full, 2, 64); got != 1638.125 {
		t.Errorf("%v squares on a full board", got)
	}
}

// Columns outside a window of 16 columns need a queen unless a row allows only a square of theirs.
func TestOuterColumns(t *testing.T) {
	for _, c := range []struct {
		n, outer int
		columns  []int // of the rows that allow only one square
	}{
		{16, 0, nil}, {20, 4, nil}, {20, 3, []int{0}}, {20, 2, []int{0, 19}}, {20, 4, []int{9}},
		{20, 0, []int{16, 19, 1, 0, 18, 17}}, {20, 2, []int{1, 0}},
	} {
		b := queens.FullBoard(c.n)
		for row, column := range c.columns {
			b.Allow[row] = 1 << column
		}
		if got := outerColumns(&b); got != c.outer {
			t.Errorf("n = %d, single squares in columns %v: %d outer columns need a queen, want %d", c.n,
				c.columns, got, c.outer)
		}
	}
}
