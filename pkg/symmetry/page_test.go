package symmetry_test

import (
	"math/bits"
	"strings"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/testkit"
)

// docs/symmetry.md draws a class of side 8: the top queen is on column 2, and the left side is
// tied.
func TestGeneratedClass(t *testing.T) {
	const n = 8
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	class := classes[7] // after the five classes of bound 1 and two of bound 2
	closed, attacked := queens.FullBoard(n), queens.FullBoard(n)
	for i := 2; i < n-2; i++ { // the squares of strict sides at distance 2 or more
		closed.Allow[n-1] &^= 1 << i
		closed.Allow[i] &^= 1 << (n - 1)
	}
	fixed := map[int]bool{0: true, 5: true}
	for row := range fixed {
		attacked.Preplace(row, bits.TrailingZeros32(class.Board.Allow[row]))
	}
	var drawing strings.Builder
	for row := range n {
		for column := range n {
			square := uint32(1) << column
			mark := " #" // closed
			switch {
			case class.Board.Allow[row]&square != 0 && fixed[row]:
				mark = " Q"
			case class.Board.Allow[row]&square != 0:
				mark = " ."
			case attacked.Allow[row]&square == 0:
				mark = " x"
			case closed.Allow[row]&square != 0:
				t.Errorf("row %d, column %d is not allowed, and nothing closes it", row, column)
			}
			drawing.WriteString(mark)
		}
		drawing.WriteByte('\n')
	}
	if class.Weight != 8 {
		t.Errorf("the class has weight %d, want 8", class.Weight)
	}
	testkit.Generated(t, "class", "```text\n"+drawing.String()+"```\n")
}
