package enumerate

import (
	"context"
	"iter"
	"slices"

	"nqueens/pkg/queens"
)

// Unique yields one solution of each equivalence class under the eight symmetries of the square,
// and how many distinct images this solution has: 8, 4 or 2, or 1 for n = 1. The board is the full
// board of side n, 1 to [queens.MaxN]. Unique yields the lexicographically least solution of each
// class, in lexicographic order. It yields and ends as [Boards] does.
//
// Each of the four sides of a board has a queen, at some distance from the nearer corner. A
// symmetry permutes the sides and keeps the distances. For each side, one symmetry makes it the top
// side with its queen in the left half. So the top queen of the least solution of a class stands on
// column a, the least of the four distances. For each a, it is enough to search the board on which
// no side has a queen nearer to a corner.
func Unique(ctx context.Context, n int) iter.Seq2[[]int, int] {
	return func(yield func([]int, int) bool) {
		orbit := newOrbit(n)
		for a := 0; 2*a < n-1 || a == 0; a++ { // queens in the middles of two sides attack each other
			for columns := range Boards(ctx, boundedBoard(n, a)) {
				images, first := orbit.images(columns)
				if first && !yield(columns, images) {
					return
				}
			}
		}
	}
}

// boundedBoard returns the board with the top queen on column a. The other sides allow no square
// whose distance is less than a.
func boundedBoard(n, a int) queens.Board {
	board := queens.FullBoard(n)
	last := n - 1
	board.Allow[0] = 1 << a
	for i := range a {
		for _, near := range [2]int{i, last - i} {
			board.Allow[near] &^= 1 | 1<<last
			board.Allow[last] &^= 1 << near
		}
	}
	return board
}

// orbit computes the images of solutions, all of the same side. It reuses its buffers.
type orbit struct{ turned, next, mirrored []int }

func newOrbit(n int) *orbit {
	return &orbit{turned: make([]int, n), next: make([]int, n), mirrored: make([]int, n)}
}

// images returns the number of distinct images of a solution, and whether the solution is
// lexicographically the least of them. If it is not, the number is 0.
func (o *orbit) images(columns []int) (images int, first bool) {
	last, same := len(columns)-1, 0
	copy(o.turned, columns)
	for range 4 {
		for row, column := range o.turned {
			o.next[column], o.mirrored[row] = last-row, last-column
		}
		for _, image := range [2][]int{o.turned, o.mirrored} {
			switch slices.Compare(image, columns) {
			case -1:
				return 0, false
			case 0:
				same++
			}
		}
		o.turned, o.next = o.next, o.turned
	}
	return 8 / same, true // each image comes from equally many symmetries
}
