package kerneltest

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"nqueens/pkg/queens"
)

// placement returns the columns of random queens: one on each row, the given ones among them and
// the others on allowed squares. No two queens attack each other, unless both are given. It returns
// nil if a short search finds none.
func placement(rng *rand.Rand, board queens.Board, given ...queens.Square) []int {
	columns := slices.Repeat([]int{-1}, board.N)
	for _, s := range given {
		columns[s.Row] = s.Column
		board.Preplace(s.Row, s.Column)
	}
	budget := 200
	if !place(rng, board, columns, &budget) {
		return nil
	}
	return columns
}

// place places queens on the rows without one (-1), the row with the fewest allowed squares first.
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

// squares returns the squares of a placement's queens on the given rows, none if it is nil.
func squares(columns []int, rows ...int) []queens.Square {
	var squares []queens.Square
	for _, row := range rows {
		if columns != nil {
			squares = append(squares, queens.Square{Row: row, Column: columns[row]})
		}
	}
	return squares
}

// fix returns the board after every row from depth on with a single allowed square got a queen
// there, again until there is no such row.
func fix(board queens.Board, depth int) queens.Board {
	rows := span(depth, board.N)
	for {
		i := slices.IndexFunc(rows, func(row int) bool { return bits.OnesCount32(board.Allow[row]) == 1 })
		if i < 0 {
			return board
		}
		board.Preplace(rows[i], bits.TrailingZeros32(board.Allow[rows[i]]))
		rows = slices.Delete(rows, i, i+1)
	}
}

// span returns the numbers from first to end-1.
func span(first, end int) []int {
	var numbers []int
	for i := first; i < end; i++ {
		numbers = append(numbers, i)
	}
	return numbers
}

// construct returns the first batch that draw returns. draw returns nil if what it drew at random
// does not have what a property needs.
func construct(draw func() *batch) *batch {
	for range 20_000 {
		if b := draw(); b != nil {
			return b
		}
	}
	panic("kerneltest: no batch has what the property needs")
}

// attacks reports whether the prefix attacks a square below it.
func attacks(p queens.Prefix, s queens.Square) bool {
	down := s.Row - p.Row
	return has(p.Cols, s.Column) || has(p.Left, s.Column-down) || has(p.Right, s.Column+down)
}
