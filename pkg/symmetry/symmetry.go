// Package symmetry cuts a count into classes by the symmetries of the board, and computes the total
// from the sums of the classes.
//
// Rotations and reflections turn solutions into solutions, so it is enough to count some of the
// eight images of each solution. A class is a board whose allow masks admit k of the eight; a
// solution found on it weighs 8/k. Splitting and search know classes only, not symmetries.
package symmetry

import (
	"fmt"
	"math/big"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Classes returns the classes of the board of side n under symmetry s, with queens placed beforehand
// on the given squares, if any. These queens must not attack each other.
//
// Placed queens: one class, the board with these queens. It has no symmetry, so s must be None.
//
// Full: see full.go and docs/symmetry.md.
//
// Mirror: of a solution and its left-right image, exactly one has its top queen in the left half,
// unless the top queen of a board of odd side stands in the middle column. Then the queen of row 1
// does not, and the same choice is made there. A board of side 1 is its own image, and is counted
// as it is.
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
		return nil, fmt.Errorf("symmetry of a board with queens placed beforehand must be %s, not %q", queens.None, string(s))
	case s == queens.None || n == 1 && (s == queens.Mirror || s == queens.Full):
		return []queens.Class{{Board: board, K: 8}}, nil
	case s == queens.Mirror:
		return mirror(board), nil
	case s == queens.Full:
		return full(board), nil
	}
	return nil, fmt.Errorf("symmetry must be %s, %s or %s, not %q", queens.Full, queens.Mirror, queens.None, string(s))
}

func mirror(board queens.Board) []queens.Class {
	leftHalf := uint32(1)<<(board.N/2) - 1
	side := board
	side.Allow[0] = leftHalf
	classes := []queens.Class{{Board: side, K: 4}}
	if board.N%2 == 1 {
		middle := board
		middle.Allow[0] = leftHalf + 1
		middle.Allow[1] = leftHalf
		classes = append(classes, queens.Class{Board: middle, K: 4})
	}
	return classes
}

// images is the number of images a solution has under the symmetries of the square.
const images = 8

// Sums holds, for each k, the number of solutions found on the classes of that k. The zero value
// holds no solutions.
type Sums [images + 1]queens.Sum

// Add adds count solutions found on a class of the given k, 1..8.
func (s *Sums) Add(k int, count uint64) { s[k].Add(count) }

// AddAll adds the solutions of other sums.
func (s *Sums) AddAll(other *Sums) {
	for k := range s {
		s[k].AddSum(other[k])
	}
}

// Total returns the sum over k of 8·s[k]/k, the number of solutions on the whole board. The sums of a
// complete count leave no remainder; if there is one, the error wraps
// [run.ErrContradiction].
func (s *Sums) Total() (*big.Int, error) {
	total, remainder := s.divide()
	if remainder.Sign() != 0 {
		return nil, fmt.Errorf("%w: the class sums leave a remainder of %d/%d", run.ErrContradiction, remainder, denominator)
	}
	return total, nil
}

// Partial returns the same sum rounded down: the solutions that a count has found so far.
func (s *Sums) Partial() *big.Int {
	total, _ := s.divide()
	return total
}

// denominator is a multiple of every k from 1 to 8.
const denominator = 840

func (s *Sums) divide() (quotient, remainder *big.Int) {
	sum := new(big.Int)
	for k := 1; k <= images; k++ {
		weight := big.NewInt(int64(images * denominator / k))
		sum.Add(sum, weight.Mul(weight, s[k].Big()))
	}
	return sum.QuoRem(sum, big.NewInt(denominator), new(big.Int))
}
