package split

import (
	"math/bits"

	"nqueens/pkg/queens"
)

// walk enumerates the prefixes of a board in lexicographic order of their columns.
type walk struct {
	board *queens.Board
	depth int // rows of the prefixes, at least 1
	// visit gets what stands on all rows but the last of some prefixes, and the squares of the last row, at least one. It returns
	// whether to go on.
	visit   func(above queens.Prefix, free uint32) bool
	columns [queens.MaxN]byte // of the queens above
	steps   uint64            // placements that were passed, a measure of the time
}

// below visits the prefixes that begin with p, from the one with queens on the columns of path in the next rows on. It returns
// whether to go on.
func (w *walk) below(p queens.Prefix, path []byte) bool {
	free := p.Free(w.board)
	if len(path) > 0 {
		free &^= 1<<path[0] - 1
		path = path[1:]
	}
	w.steps++
	if p.Row == w.depth-1 {
		return free == 0 || w.visit(p, free)
	}
	for ; free != 0; free &= free - 1 {
		w.columns[p.Row] = byte(bits.TrailingZeros32(free))
		if !w.below(p.Place(w.board, free&-free), path) {
			return false
		}
		path = nil
	}
	return true
}

// take appends to prefixes, until there are most, those from the one with queens on these columns on, without the first skip.
func take(prefixes []queens.Prefix, most int, b *queens.Board, columns []byte, skip int) []queens.Prefix {
	w := walk{board: b, depth: len(columns), visit: func(p queens.Prefix, free uint32) bool {
		if here := bits.OnesCount32(free); here <= skip {
			skip -= here
			return true
		}
		for ; skip > 0; skip-- {
			free &= free - 1
		}
		for ; free != 0 && len(prefixes) < most; free &= free - 1 {
			prefixes = append(prefixes, p.Place(b, free&-free))
		}
		return len(prefixes) < most
	}}
	w.below(queens.Prefix{}, columns)
	return prefixes
}
