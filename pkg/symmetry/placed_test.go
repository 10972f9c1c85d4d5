package symmetry_test

import (
	"math/rand/v2"
	"testing"

	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
)

// The class of placed queens has exactly the solutions with queens on the placed squares: for one
// queen on any square of a small board, and for any two that do not attack each other.
func TestPlacedByBruteForce(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for i := range n * n {
			first := queens.Square{Row: i / n, Column: i % n}
			expectPlaced(t, n, first)
			for j := range i {
				if second := (queens.Square{Row: j / n, Column: j % n}); !first.Attacks(second) {
					expectPlaced(t, n, second, first)
				}
			}
		}
	}
}

// The same is true on larger boards, for random queens that do not attack each other.
func TestRandomPlacedByBruteForce(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 0))
		n := 7 + rng.IntN(3)
		var placed []queens.Square
		for range 1 + rng.IntN(n) {
			s := queens.Square{Row: rng.IntN(n), Column: rng.IntN(n)}
			if queens.ValidatePlaced(n, append(placed, s)) == nil {
				placed = append(placed, s)
			}
		}
		expectPlaced(t, n, placed...)
	}
}

func expectPlaced(t *testing.T, n int, placed ...queens.Square) {
	t.Helper()
	classes, err := symmetry.Classes(n, queens.None, placed...)
	if err != nil || len(classes) != 1 || classes[0].Weight != 1 {
		t.Fatalf("n=%d, queens on %v: classes %v (error %v)", n, placed, classes, err)
	}
	board := &classes[0].Board
	if err := board.Validate(); err != nil {
		t.Fatalf("n=%d, queens on %v: %v", n, placed, err)
	}
	for solution := range oracle.Boards(n) {
		has := true
		for _, s := range placed {
			has = has && solution[s.Row] == s.Column
		}
		if stands(board, solution) != has {
			t.Errorf("n=%d, queens on %v: the solution %v is in the class: %v", n, placed, solution, !has)
		}
	}
}

// Classes rejects placed queens with a symmetry other than None, even on a board of one square, and
// queens that attack each other or stand beyond the board.
func TestPlacedOfNothing(t *testing.T) {
	for _, c := range []struct {
		n      int
		s      queens.Symmetry
		placed []queens.Square
	}{
		{8, queens.Full, []queens.Square{{Row: 0, Column: 3}}},
		{8, queens.Mirror, []queens.Square{{Row: 0, Column: 3}}},
		{1, queens.Full, []queens.Square{{}}},
		{1, queens.Mirror, []queens.Square{{}}},
		{8, "", []queens.Square{{Row: 0, Column: 3}}},
		{8, queens.None, []queens.Square{{Row: 0, Column: 8}}},
		{8, queens.None, []queens.Square{{Row: -1, Column: 0}}},
		{8, queens.None, []queens.Square{{Row: 1, Column: 1}, {Row: 1, Column: 1}}},
		{8, queens.None, []queens.Square{{Row: 1, Column: 1}, {Row: 3, Column: 3}}},
	} {
		if classes, err := symmetry.Classes(c.n, c.s, c.placed...); err == nil || classes != nil {
			t.Errorf("Classes(%d, %q, %v) = %v (error %v), want an error", c.n, c.s, c.placed, classes, err)
		}
	}
}
