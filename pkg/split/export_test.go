package split

import (
	"iter"

	"nqueens/pkg/queens"
)

// Prefixes yields every placement of queens on the first depth rows of board b, with
// 0 <= depth <= b.N, in lexicographic order of the columns.
func Prefixes(b queens.Board, depth int) iter.Seq[queens.Prefix] {
	return func(yield func(queens.Prefix) bool) {
		w := newWalk(&b, depth)
		for some := w.take(nil, 64); len(some) > 0; some = w.take(some[:0], 64) {
			for _, p := range some {
				if !yield(p) {
					return
				}
			}
		}
	}
}
