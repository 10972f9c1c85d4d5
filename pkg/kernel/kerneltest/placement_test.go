package kerneltest

import (
	"slices"
	"testing"

	"nqueens/pkg/queens"
)

// A placement has the given queens, and no two queens attack each other but those given.
func TestPlacement(t *testing.T) {
	rng := newRand(0)
	found := 0
	for range 1000 {
		n := 8 + rng.IntN(queens.MaxN-7)
		rows := drawRows(rng, 2, 0, n)
		given := apart(rng, rows[0], rows[1], directions[rng.IntN(3)]*(rows[1]-rows[0]), 0, n)
		columns := placement(rng, queens.FullBoard(n), given...)
		if columns == nil {
			continue
		}
		found++
		all := squares(columns, span(0, n)...)
		for _, s := range given {
			if !slices.Contains(all, s) {
				t.Fatalf("n=%d: the queens %v are not on %v", n, all, s)
			}
		}
		for i, a := range all {
			for _, b := range all[:i] {
				if both := slices.Contains(given, a) && slices.Contains(given, b); a.Attacks(b) != both {
					t.Fatalf("n=%d, given %v: of the queens %v, (%v) and (%v) attack each other: %v", n, given, all, a, b, !both)
				}
			}
		}
	}
	if found < 900 {
		t.Errorf("%d of 1000 placements found", found)
	}
}
