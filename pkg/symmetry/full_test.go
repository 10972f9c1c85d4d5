package symmetry_test

import (
	"iter"
	"maps"
	"testing"

	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
)

// definition has the bound and the tied sides of a class: bit 0 for the right side, 1 for the
// bottom, 2 for the left.
type definition struct{ a, tied int }

// weights has the weight of each class with a < (n-1)/2, by its tied sides.
var weights = map[int]int{0b000: 8, 0b010: 4, 0b100: 8, 0b101: 8, 0b111: 2}

// rotations maps the tied sides of each class that full leaves out to the tied sides of its
// rotation.
var rotations = map[int]int{0b001: 0b100, 0b011: 0b101, 0b110: 0b101}

// definitions yields the definitions of the classes in the order in which full returns them.
func definitions(n int) iter.Seq2[int, definition] {
	return func(yield func(int, definition) bool) {
		i := 0
		for a := 1; 2*a <= n-1; a++ {
			for _, tied := range []int{0b000, 0b010, 0b100, 0b101, 0b111} {
				if middle := 2*a == n-1; middle && tied > 0 || !yield(i, definition{a, tied}) {
					return
				}
				i++
			}
		}
	}
}

// sides returns how far the queens on the top, right, bottom and left side are from the nearer
// corner.
func sides(columns []int) (distances [4]int) {
	last := len(columns) - 1
	near := func(i int) int { return min(i, last-i) }
	distances[0], distances[2] = near(columns[0]), near(columns[last])
	for row, column := range columns {
		switch column {
		case last:
			distances[1] = near(row)
		case 0:
			distances[3] = near(row)
		}
	}
	return distances
}

// sight returns the bound and the tied sides of a solution, and whether the top queen stands on
// column a, as in a class.
func sight(columns []int) (d definition, seen bool) {
	distances := sides(columns)
	d.a = max(distances[0], distances[1], distances[2], distances[3])
	for i, distance := range distances[1:] {
		if distance == d.a {
			d.tied |= 1 << i
		}
	}
	return d, columns[0] == d.a
}

// There are five classes for each bound a < (n-1)/2. If n is odd, there is one more, for a =
// (n-1)/2.
func TestFullClasses(t *testing.T) {
	for n := 2; n <= queens.MaxN; n++ {
		classes := mustClasses(t, n, queens.Full)
		want := (n - 2) / 2 * 5
		if n%2 == 1 {
			want = (n-3)/2*5 + 1
		}
		if len(classes) != want {
			t.Fatalf("n=%d: %d classes, want %d", n, len(classes), want)
		}
		defined := 0
		for i, d := range definitions(n) {
			defined++
			weight := weights[d.tied]
			if 2*d.a == n-1 {
				weight = 8
			}
			if classes[i].Weight != weight {
				t.Errorf("n=%d, class %d: weight %d, want %d", n, i, classes[i].Weight, weight)
			}
		}
		if defined != want {
			t.Errorf("n=%d: %d classes are defined, want %d", n, defined, want)
		}
	}
}

// Every class has as many solutions as meet its definition. Brute force finds all solutions and
// sorts them into eight classes for each bound. Three of the eight are rotations of others and have
// as many solutions, so full leaves them out. The class of the middle column has half of the
// solutions with the top queen there.
func TestFullClassesByBruteForce(t *testing.T) {
	for n := 2; n <= 12; n++ {
		want := make(map[definition]uint64)
		for columns := range oracle.Boards(n) {
			d, seen := sight(columns)
			if !seen {
				continue
			}
			if 2*d.a == n-1 {
				d.tied = 0
			}
			want[d]++
		}
		classes := mustClasses(t, n, queens.Full)
		for i, d := range definitions(n) {
			got := oracle.Count(n, func(row, column int) bool {
				return classes[i].Board.Allow[row]>>column&1 == 1
			}, nil)
			if 2*d.a == n-1 {
				got *= 2
			}
			if got != want[d] {
				t.Errorf("n=%d, a=%d, tied %03b: the class has %d solutions, brute force %d", n, d.a, d.tied,
					got, want[d])
			}
			for tied, image := range rotations {
				if rotated := want[definition{d.a, tied}]; d.tied == image && rotated != got {
					t.Errorf("n=%d, a=%d, tied %03b: %d solutions, and %d where %03b are tied", n, d.a, tied,
						rotated, got, image)
				}
			}
		}
		for d, solutions := range want {
			_, known := weights[d.tied]
			if _, rotation := rotations[d.tied]; !known && !rotation {
				t.Errorf("n=%d: no class for %d solutions of %v", n, solutions, d)
			}
		}
	}
}

// Each class has the solutions that meet its definition, or their images by a quarter turn. The
// class of the middle column has only half of them.
func TestFullClassesAreImages(t *testing.T) {
	for n := 2; n <= 9; n++ {
		classes := mustClasses(t, n, queens.Full)
		for solution := range oracle.Boards(n) {
			// the solution as it is, and after a clockwise quarter turn
			upright, turned := images(solution)[6], images(solution)[0]
			for i, d := range definitions(n) {
				stands := stands(&classes[i].Board, solution)
				one, on := sight(upright)
				if isTurned(n, d) {
					one, on = sight(turned)
				}
				if middle := 2*d.a == n-1; middle {
					one.tied = 0
					on = on && turned[1] < d.a
				}
				if stands != (on && one == d) {
					t.Errorf("n=%d, class %d: %v is on the class: %v", n, i, solution, stands)
				}
			}
		}
	}
}

// isTurned reports whether full returns the class of a definition turned by a quarter.
func isTurned(n int, d definition) bool {
	switch {
	case 2*d.a == n-1, d.tied == 0b010:
		return true
	case d.tied != 0:
		return false
	case n > 16:
		return 2*d.a+2 < n-1
	}
	return 4*d.a <= n
}

// On a board of side 2 every queen is in a corner, so there is no class. The only class of side 3,
// with the top queen on the middle column, has no solution.
func TestFullOfTheSmallest(t *testing.T) {
	if classes := mustClasses(t, 2, queens.Full); len(classes) != 0 {
		t.Errorf("n=2: classes %v", classes)
	}
	classes := mustClasses(t, 3, queens.Full)
	want := [3]uint32{0b100, 0b001, 0b100}
	if len(classes) != 1 || classes[0].Weight != 8 || [3]uint32(classes[0].Board.Allow[:3]) != want {
		t.Errorf("n=3: classes %+v, want %b", classes, want)
	}
}

// The solutions of n = 8 are found as follows. Of the twelve fundamental ones, five have one side
// at the greatest distance, and five have two neighboring sides there: each is found once. Two have
// two opposite sides there: one is found twice. The other, which a half turn maps to itself, has
// four images and is found once.
func TestFullSumsOfEight(t *testing.T) {
	found := make(map[int]uint64)
	for _, class := range mustClasses(t, 8, queens.Full) {
		found[class.Weight] += oracle.Count(8, func(row, column int) bool {
			return class.Board.Allow[row]>>column&1 == 1
		}, nil)
	}
	if want := map[int]uint64{8: 10, 4: 2 + 1, 2: 0}; !maps.Equal(found, want) {
		t.Errorf("solutions by weight: %v, want %v", found, want)
	}
}

// On the widest board column 31 is the last bit. The row of the top queen, and that of the queen of
// each tied side, allows only this queen's square. No strict side has a fixed queen.
func TestFullAtTheEdge(t *testing.T) {
	classes := mustClasses(t, 32, queens.Full)
	for i, d := range definitions(32) {
		b := &classes[i].Board
		for side, square := range [4][2]int{{0, d.a}, {d.a, 31}, {31, 31 - d.a}, {31 - d.a, 0}} {
			if isTurned(32, d) {
				square = [2]int{31 - square[1], square[0]}
			}
			alone := b.Allow[square[0]] == 1<<square[1]
			if fixed := side == 0 || d.tied>>(side-1)&1 == 1; fixed != alone {
				t.Errorf("class %d: side %d fixed: %v, want %v", i, side, alone, fixed)
			}
		}
	}
}
