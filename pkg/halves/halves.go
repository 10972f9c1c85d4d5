// Package halves counts solutions by the method halves: a meet in the middle. It cuts the board
// into a western and an eastern half, lists the ways to fill each half, the half-boards, and counts
// the pairs of half-boards that do not attack each other. docs/halves.md explains and proves the
// method.
//
// The solutions are divided by row set: the set of the rows whose queens stand in the east. [Set]
// makes any row set from its number, and a task of a run is a range of numbers. A [Counter] counts
// such a range. [Recount] counts it again by depth-first search. The package knows nothing of runs
// or transport.
package halves

import (
	"fmt"
	"math/bits"

	"nqueens/pkg/queens"
)

// RowSet is a set of rows of a board of side n, whose queens stand in the eastern half: bit r is
// row r. It has as many rows as the east has columns.
type RowSet uint32

// west returns the number of columns of the western half, columns 0..west(n)-1. The others are the
// eastern half: as many, or one more if n is odd.
func west(n int) int { return n / 2 }

// mirror returns the row set after a reflection that turns the board upside down.
func (s RowSet) mirror(n int) RowSet {
	return RowSet(bits.Reverse32(uint32(s)) >> (queens.MaxN - n))
}

func (s RowSet) has(row int) bool { return s>>row&1 != 0 }

// weights says how the pairs of half-boards of a row set are counted. A queen on a long diagonal,
// of which each board has two, must stand in the west or in the centre; a pair then stands for all
// its images with such queens in the east.
type weights struct {
	set uint64 // 2 if the row set stands for its mirror image too, else 1
	// none is the weight of pairs with no western queens on long diagonals, and without a queen in
	// the centre
	none   uint64
	centre uint64 // of pairs with a queen in the centre; only a board of odd side has one
}

// The weights of pairs with two western queens on long diagonals, and with one.
const weightOfTwo, weightOfOne = 4, 2

// weightsOf returns the weights of a row set.
func weightsOf(n int, s RowSet) weights {
	w := weights{set: 2}
	if s == s.mirror(n) {
		w.set = 1
	}
	middle := n / 2
	switch {
	case n%2 == 0:
		w.none = exchange(n, s)
	case s.has(middle):
		w.centre = exchange(n, s)
	default:
		w.none = 2
	}
	return w
}

// exchange returns the weight that counts one of each two row sets that a left-right reflection
// exchanges: 2 or 0, and 1 if it exchanges the row set with its mirror image. A row and its mirror
// image are alike if the set has both or neither; the first such row decides. The middle row of an
// odd board does not count.
func exchange(n int, s RowSet) uint64 {
	for row := range n / 2 {
		if s.has(row) == s.has(n-1-row) {
			if s.has(row) {
				return 2
			}
			return 0
		}
	}
	return 1
}

// add returns sum + weight·count, or an error if that does not fit into 64 bits.
func add(sum, weight, count uint64) (uint64, error) {
	high, low := bits.Mul64(weight, count)
	sum, carry := bits.Add64(sum, low, 0)
	if high != 0 || carry != 0 {
		return 0, fmt.Errorf("the weighted sum of a range of row sets passes 64 bits: count fewer row " +
			"sets at a time")
	}
	return sum, nil
}
