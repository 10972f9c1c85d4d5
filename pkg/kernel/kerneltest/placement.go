package kerneltest

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"nqueens/pkg/queens"
)

// solution returns a random solution of the full board of side n: the column of the queen on each
// row. n must not be 2 or 3.
func solution(rng *rand.Rand, n int) []int {
	for {
		columns, budget := slices.Repeat([]int{-1}, n), 200
		if place(rng, queens.FullBoard(n), columns, &budget) {
			return columns
		}
	}
}

// place places queens on the rows whose column is -1, the row with the fewest allowed squares
// first. It returns false if it finds no solution within the budget.
func place(rng *rand.Rand, board queens.Board, columns []int, budget *int) bool {
	row, fewest := -1, queens.MaxN+1
	for r, col := range columns {
		if squares := bits.OnesCount32(board.Allow[r]); col < 0 && squares < fewest {
			row, fewest = r, squares
		}
	}
	if row < 0 {
		return true
	}
	*budget--
	for _, col := range rng.Perm(board.N) {
		if *budget < 0 || !has(board.Allow[row], col) {
			continue
		}
		next := board
		next.Preplace(row, col)
		columns[row] = col
		if place(rng, next, columns, budget) {
			return true
		}
	}
	columns[row] = -1
	return false
}

// attacks reports whether the prefix attacks a square below its rows.
func attacks(p queens.Prefix, s queens.Square) bool {
	down := s.Row - p.Row
	return has(p.Cols, s.Column) || has(p.Left, s.Column-down) || has(p.Right, s.Column+down)
}
