package symmetry

import (
	"math/bits"

	"nqueens/pkg/queens"
)

// square is a place on the board.
type square struct{ row, column int }

// full returns the classes by all eight symmetries of the square. docs/symmetry.md has the proof, and
// draws one class.
//
// Each side of the board has one queen on it; its distance is the number of squares to the nearer
// corner. A solution belongs to bound a if a is the greatest of its four distances. It is counted
// from those of its images whose top queen stands on column a. Each of the other sides is then either
// tied (its queen has distance a too) or strict (its queen is nearer to a corner). The tied sides
// tell how many images are counted: one for each side at distance a, or two where a is the middle
// of the side.
func full(board queens.Board) []queens.Class {
	last := board.N - 1
	var classes []queens.Class
	for a := 1; 2*a < last; a++ {
		// A tied queen could stand on two squares, but the top queen attacks one of
		// them; on the other, the four queens form a pinwheel.
		pinwheel := [4]square{{0, a}, {a, last}, {last, last - a}, {last - a, 0}}
		for tied := range uint(8) {
			class := queens.Class{Board: strict(board, a), K: 1 + bits.OnesCount(tied)}
			for side, queen := range pinwheel {
				if (tied<<1|1)>>side&1 == 1 {
					class.Board.Preplace(queen.row, queen.column)
				}
			}
			classes = append(classes, class)
		}
	}
	if board.N%2 == 1 {
		// A queen in the middle of the top side attacks the middles of the other sides.
		class := queens.Class{Board: strict(board, last/2), K: 2}
		class.Board.Preplace(0, last/2)
		classes = append(classes, class)
	}
	return classes
}

// strict returns the board without the squares of its right, bottom and left side whose distance is
// at least a.
func strict(board queens.Board, a int) queens.Board {
	last := board.N - 1
	for i := a; i <= last-a; i++ {
		board.Allow[i] &^= 1 | 1<<last
		board.Allow[last] &^= 1 << i
	}
	return board
}
