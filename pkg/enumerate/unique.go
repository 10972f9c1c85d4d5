package enumerate

import (
	"context"
	"iter"
	"slices"

	"nqueens/pkg/queens"
)

// Unique returns one of each family of solutions of the full board of side n, 1 to
// [queens.MaxN], and its number of different images under the eight symmetries of the
// square: 8, 4, 2 or, for n = 1, 1. Of each family it is the board that comes first in
// lexicographic order, and so do the families. It yields, and ends, as [Boards] does.
//
// The queens on the four sides of a board stand at some distance from the nearer corner.
// A symmetry swaps the sides and keeps the distances, and every side comes to the top
// with its queen in the left half. So on the first board of a family the top queen
// stands at the least of the four distances, a, and it is enough to search the boards
// on which no side has a queen nearer to a corner than that.
func Unique(ctx context.Context, n int) iter.Seq2[[]int, int] {
	return func(yield func([]int, int) bool) {
		orbit := newOrbit(n)
		for a := 0; 2*a < n-1 || a == 0; a++ { // the middles of two sides attack each other
			for columns := range Boards(ctx, noNearer(n, a)) {
				images, first := orbit.of(columns)
				if first && !yield(columns, images) {
					return
				}
			}
		}
	}
}

// noNearer returns the board with the top queen on column a and without the squares of
// the other sides that are nearer to a corner.
func noNearer(n, a int) queens.Board {
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

// orbit finds the images of boards of one side.
type orbit struct{ turned, next, mirrored []int }

func newOrbit(n int) *orbit {
	return &orbit{turned: make([]int, n), next: make([]int, n), mirrored: make([]int, n)}
}

// of returns the number of different images of a board, and whether none comes before it
// in lexicographic order.
func (o *orbit) of(columns []int) (images int, first bool) {
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
	return 8 / same, true // each image is made by as many symmetries as the board itself
}
