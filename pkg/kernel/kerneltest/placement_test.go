package kerneltest

import (
	"testing"

	"nqueens/pkg/queens"
)

// No two queens of a solution attack each other, and each row has one.
func TestSolution(t *testing.T) {
	rng := newRand(0)
	for range 300 {
		n := 8 + rng.IntN(queens.MaxN-7)
		columns := solution(rng, n)
		for row := range n {
			for above := range row {
				if (queens.Square{Row: row, Column: columns[row]}).Attacks(
					queens.Square{Row: above, Column: columns[above]}) {
					t.Fatalf("n=%d, queens in columns %v: the queens on rows %d and %d attack each other", n,
						columns, above, row)
				}
			}
		}
	}
}
