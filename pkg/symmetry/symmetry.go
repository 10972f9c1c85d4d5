// Package symmetry divides a count into classes by the symmetries of the board, and computes the
// total from the sums of the classes.
//
// Rotations and reflections turn solutions into solutions, so it is enough to count some of the
// eight images of each solution. A class is a board that may have fewer allowed squares, and a
// weight. The total is the sum, over the classes, of the weight times the number of solutions.
// Package split and the kernels use only classes, not symmetries.
package symmetry

import (
	"fmt"

	"nqueens/pkg/queens"
)

// Classes returns the classes of the board of side n under symmetry s. Queens stand on the placed
// squares, if there are any. These queens must not attack each other.
//
// Placed queens: one class, the board with these queens. This package uses no symmetry of such a
// board, so s must be None.
//
// Full: see full.go and docs/symmetry.md.
//
// Mirror: a left-right reflection moves the top queen to the other half. So the first class has
// only the solutions whose top queen stands in the left half. On a board of odd side, a second
// class has the solutions with the top queen in the middle column and the queen of row 1 in the
// left half. A board of side 1 has one class of weight 1 under any symmetry.
func Classes(n int, s queens.Symmetry, placed ...queens.Square) ([]queens.Class, error) {
	if err := queens.ValidateN(n); err != nil {
		return nil, err
	}
	if err := queens.ValidatePlaced(n, placed); err != nil {
		return nil, err
	}
	board := queens.FullBoard(n)
	for _, queen := range placed {
		board.Preplace(queen.Row, queen.Column)
	}
	switch {
	case len(placed) > 0 && s != queens.None:
		return nil, fmt.Errorf("symmetry of a board with queens placed beforehand must be %s, not %q",
			queens.None, string(s))
	case s == queens.None || n == 1 && (s == queens.Mirror || s == queens.Full):
		return []queens.Class{{Board: board, Weight: 1}}, nil
	case s == queens.Mirror:
		return mirror(board), nil
	case s == queens.Full:
		return full(board), nil
	}
	return nil, fmt.Errorf("symmetry must be %s, %s or %s, not %q", queens.Full, queens.Mirror,
		queens.None, string(s))
}

func mirror(board queens.Board) []queens.Class {
	leftHalf := uint32(1)<<(board.N/2) - 1
	side := board
	side.Allow[0] = leftHalf
	classes := []queens.Class{{Board: side, Weight: 2}}
	if board.N%2 == 1 {
		middle := board
		middle.Allow[0] = leftHalf + 1
		middle.Allow[1] = leftHalf
		classes = append(classes, queens.Class{Board: middle, Weight: 2})
	}
	return classes
}
