package symmetry_test

import (
	"fmt"
	"slices"
	"testing"

	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
)

var symmetries = []queens.Symmetry{queens.None, queens.Mirror, queens.Full}

// The counts of the classes by a plain search, times their weights, add up to the published total.
func TestClassesMakeTheTotal(t *testing.T) {
	for n := 1; n <= 12; n++ {
		for _, s := range symmetries {
			var sums queens.Sums
			for _, class := range mustClasses(t, n, s) {
				allowed := func(row, col int) bool { return class.Board.Allow[row]>>col&1 == 1 }
				sums.Add(class.Weight, oracle.Count(n, allowed, nil))
			}
			known, _ := queens.KnownTotal(n)
			if total := sums.Total(); total.Cmp(known) != 0 {
				t.Errorf("n=%d %s: total %d, want %d", n, s, total, known)
			}
		}
	}
}

// For each of the eight images of a solution, equal or not, add up the weights of the classes that
// have it. The sum is eight: each solution counts once in the total.
func TestEverySolutionCountsOnce(t *testing.T) {
	for n := 1; n <= 10; n++ {
		for _, s := range symmetries {
			classes := mustClasses(t, n, s)
			for solution := range oracle.Boards(n) {
				weights := 0
				for _, image := range images(solution) {
					for _, class := range classes {
						if stands(&class.Board, image) {
							weights += class.Weight
						}
					}
				}
				if weights != 8 {
					t.Errorf("n=%d %s: %v counts for %d eighths of a solution", n, s, solution, weights)
				}
			}
		}
	}
}

// Exactly one of a solution and its left-right image is in a class of Mirror. It is in only one
// class, and counts twice.
func TestMirrorSeesOneOfEachPair(t *testing.T) {
	for n := 2; n <= 9; n++ {
		classes := mustClasses(t, n, queens.Mirror)
		for solution := range oracle.Boards(n) {
			seen := 0
			for _, class := range classes {
				for _, one := range [][]int{solution, mirrored(n, solution...)} {
					if stands(&class.Board, one) {
						seen++
					}
				}
			}
			if seen != 1 {
				t.Errorf("n=%d: %v and its mirror image are seen %d times", n, solution, seen)
			}
		}
		for _, class := range classes {
			if class.Weight != 2 {
				t.Errorf("n=%d: a class of weight %d, want 2", n, class.Weight)
			}
		}
	}
}

// Of two queens on the first two rows and their left-right image, exactly one is allowed, by
// exactly one class of Mirror. The classes allow all squares of the other rows. So Mirror is exact
// for every side, also for sides that are too large to count.
func TestMirrorOfEverySide(t *testing.T) {
	for n := 2; n <= queens.MaxN; n++ {
		classes := mustClasses(t, n, queens.Mirror)
		full := queens.FullBoard(n)
		for _, class := range classes {
			if !slices.Equal(class.Board.Allow[2:], full.Allow[2:]) {
				t.Errorf("n=%d: rows below the second allow %#x", n, class.Board.Allow[2:])
			}
		}
		for top := range n {
			for second := range n {
				if top == second {
					continue
				}
				seen := 0
				for _, class := range classes {
					for _, two := range [][]int{{top, second}, mirrored(n, top, second)} {
						if stands(&class.Board, two) {
							seen++
						}
					}
				}
				if seen != 1 {
					t.Errorf("n=%d: queens on columns %d and %d and their image are seen %d times", n, top, second,
						seen)
				}
			}
		}
	}
}

// None has one class, the full board with weight 1. On a board of side 1, every symmetry has only
// this class.
func TestNone(t *testing.T) {
	for n := 1; n <= queens.MaxN; n++ {
		want := []queens.Class{{Board: queens.FullBoard(n), Weight: 1}}
		if got := mustClasses(t, n, queens.None); !slices.Equal(got, want) {
			t.Errorf("n=%d: classes %v, want %v", n, got, want)
		}
	}
	for _, s := range symmetries {
		if got := mustClasses(t, 1, s); !slices.Equal(got, mustClasses(t, 1, queens.None)) {
			t.Errorf("%s of n=1 is %v", s, got)
		}
	}
}

// Every class has a valid board of the given side.
func TestClassesAreValid(t *testing.T) {
	for n := 1; n <= queens.MaxN; n++ {
		for _, s := range symmetries {
			for i, class := range mustClasses(t, n, s) {
				if err := class.Board.Validate(); err != nil || class.Board.N != n {
					t.Errorf("n=%d %s: class %d has side %d: %v", n, s, i, class.Board.N, err)
				}
			}
		}
	}
}

// A side out of range and an unknown symmetry are errors, without classes.
func TestClassesOfNothing(t *testing.T) {
	for _, c := range []struct {
		n int
		s queens.Symmetry
	}{
		{0, queens.None}, {-1, queens.Mirror}, {33, queens.None}, {33, queens.Mirror}, {0, queens.Full},
		{33, queens.Full},
		{-1 << 31, queens.None},
		{8, ""}, {8, "Mirror"}, {8, "Full"}, {8, "NONE"}, {8, "mirror "}, {8, "left-right"}, {1, ""},
		{1, "left-right"}, {0, ""},
	} {
		if classes, err := symmetry.Classes(c.n, c.s); err == nil || classes != nil {
			t.Errorf("Classes(%d, %q) = %v (error %v), want an error", c.n, c.s, classes, err)
		}
	}
}

func ExampleClasses() {
	classes, _ := symmetry.Classes(5, queens.Mirror)
	for _, class := range classes {
		fmt.Printf("weight %d\n", class.Weight)
		for _, allow := range class.Board.Allow[:class.Board.N] {
			fmt.Printf("  %05b\n", allow)
		}
	}
	// Output:
	// weight 2
	//   00011
	//   11111
	//   11111
	//   11111
	//   11111
	// weight 2
	//   00100
	//   00011
	//   11111
	//   11111
	//   11111
}

func mustClasses(t *testing.T, n int, s queens.Symmetry) []queens.Class {
	t.Helper()
	classes, err := symmetry.Classes(n, s)
	// Full has no class of a board of side 2: any top queen is in a corner.
	if err != nil || (len(classes) == 0) != (n == 2 && s == queens.Full) {
		t.Fatalf("Classes(%d, %s) = %v (error %v)", n, s, classes, err)
	}
	return classes
}

// images returns the images of a board under the eight symmetries of the square. Some are equal if
// the board is symmetric.
func images(columns []int) [][]int {
	n := len(columns)
	var all [][]int
	for range 4 {
		quarter := make([]int, n)
		for row, col := range columns {
			quarter[col] = n - 1 - row
		}
		columns = quarter
		all = append(all, columns, mirrored(n, columns...))
	}
	return all
}

// mirrored returns the left-right image of queens on the first rows of a board of side n.
func mirrored(n int, columns ...int) []int {
	image := make([]int, len(columns))
	for row, col := range columns {
		image[row] = n - 1 - col
	}
	return image
}

// stands reports whether the queens of the first rows are on allowed squares.
func stands(b *queens.Board, columns []int) bool {
	for row, col := range columns {
		if b.Allow[row]>>col&1 == 0 {
			return false
		}
	}
	return true
}
