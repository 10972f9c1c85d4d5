package split

import (
	"math/bits"

	"nqueens/pkg/queens"
)

// walk enumerates the prefixes of a board in lexicographic order of their columns. A copy of it
// continues from the same place.
type walk struct {
	board queens.Board
	depth int
	// above has, for each row up to the current one, the prefix of the rows before it, and free
	// the squares of that row that are still to come.
	above [queens.MaxN]queens.Prefix
	free  [queens.MaxN]uint32
	row   int
	ended bool
	steps uint64 // rows entered, a measure of the time
}

// newWalk returns a walk at the first prefix. depth is 1 to b.N.
func newWalk(b *queens.Board, depth int) *walk {
	w := &walk{board: *b, depth: depth}
	w.free[0] = w.above[0].Free(b)
	return w
}

// take appends the next prefixes to those given, until there are most or the walk ends.
func (w *walk) take(prefixes []queens.Prefix, most int) []queens.Prefix {
	for len(prefixes) < most && w.advance() {
		free := w.free[w.row]
		for ; free != 0 && len(prefixes) < most; free &= free - 1 {
			prefixes = append(prefixes, w.above[w.row].Place(&w.board, free&-free))
		}
		w.free[w.row] = free
	}
	return prefixes
}

// skip passes over most prefixes, or fewer at the end of the walk, and returns their number. It
// places no queen on the last row of a prefix, and so takes a tenth of the time of take.
func (w *walk) skip(most int) int {
	left := most
	for left > 0 && w.advance() {
		free := w.free[w.row]
		if here := bits.OnesCount32(free); here <= left {
			left, free = left-here, 0
		}
		for ; left > 0 && free != 0; left-- {
			free &= free - 1
		}
		w.free[w.row] = free
	}
	return most - left
}

// advance moves to the next place on the last row of the prefixes with a square to come, if the
// walk is not at one. It returns false at the end.
func (w *walk) advance() bool {
	for !w.ended {
		free := w.free[w.row]
		switch {
		case free == 0 && w.row == 0:
			w.ended = true
		case free == 0:
			w.row--
		case w.row == w.depth-1:
			return true
		default:
			below := w.above[w.row].Place(&w.board, free&-free)
			w.free[w.row] = free & (free - 1)
			w.row++
			w.above[w.row], w.free[w.row] = below, below.Free(&w.board)
			w.steps++
		}
	}
	return false
}

// appendColumns appends the columns of the next prefix's queens. The walk must have advanced to it.
func (w *walk) appendColumns(columns []byte) []byte {
	for row := range w.row {
		queen := w.above[row+1].Cols &^ w.above[row].Cols
		columns = append(columns, byte(bits.TrailingZeros32(queen)))
	}
	return append(columns, byte(bits.TrailingZeros32(w.free[w.row])))
}

// resume moves a new walk to the prefix with queens on these columns.
func (w *walk) resume(b *queens.Board, columns []byte) {
	w.board, w.depth = *b, len(columns)
	w.row = len(columns) - 1
	for row, column := range columns {
		queen := uint32(1) << column
		w.free[row] = w.above[row].Free(&w.board) &^ (queen - 1) // the squares before have been passed over
		if row < w.row {
			w.free[row] &^= queen
			w.above[row+1] = w.above[row].Place(&w.board, queen)
		}
	}
}
