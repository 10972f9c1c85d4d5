package symmetry_test

import (
	"iter"
	"math/bits"
	"testing"

	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
)

// definition is the bound of a class of full, and which sides are tied: bit 0 for
// the right, 1 for the bottom, 2 for the left.
type definition struct{ a, tied int }

// definitions yields those of the classes of full, in order.
func definitions(n int) iter.Seq2[int, definition] {
	return func(yield func(int, definition) bool) {
		for i := range (n - 1) / 2 * 8 {
			d := definition{a: 1 + i/8, tied: i % 8}
			if middle := 2*d.a == n-1; middle && d.tied > 0 || !yield(i, d) {
				return
			}
		}
	}
}

// sides returns the distances of the queens on the top, right, bottom and left side
// of a solution from the nearer corner.
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

// sight returns the class that a solution is seen on, if any, by its sides alone.
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

// There are eight classes for each bound below the middle, and one for the middle of
// an odd side, with k as the number of tied sides tells.
func TestFullClasses(t *testing.T) {
	for n := 2; n <= queens.MaxN; n++ {
		classes := mustClasses(t, n, queens.Full)
		want := (n - 2) / 2 * 8
		if n%2 == 1 {
			want = (n-3)/2*8 + 1
		}
		if len(classes) != want {
			t.Errorf("n=%d: %d classes, want %d", n, len(classes), want)
		}
		defined := 0
		for i, d := range definitions(n) {
			defined++
			k := 1 + bits.OnesCount(uint(d.tied))
			if 2*d.a == n-1 {
				k = 2
			}
			if class := classes[i]; class.K != k || class.Board.Allow[0] != 1<<d.a {
				t.Errorf("n=%d, class %d: k = %d, top queens on %#x, want %d on column %d", n, i, class.K, class.Board.Allow[0], k, d.a)
			}
		}
		if defined != want {
			t.Errorf("n=%d: %d classes are defined, want %d", n, defined, want)
		}
	}
}

// Every class holds exactly the solutions that its definition says, found by sorting
// all solutions into classes by brute force.
func TestFullClassesByBruteForce(t *testing.T) {
	for n := 2; n <= 10; n++ {
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
			got := oracle.Count(n, func(row, column int) bool { return classes[i].Board.Allow[row]>>column&1 == 1 }, nil)
			if got != want[d] {
				t.Errorf("n=%d, a=%d, tied %03b: the class has %d solutions, brute force %d", n, d.a, d.tied, got, want[d])
			}
			delete(want, d)
		}
		if len(want) != 0 {
			t.Errorf("n=%d: no class for the solutions of %v", n, want)
		}
	}
}

// Each solution has exactly as many sightings among its eight images, equal ones
// counted each, as the k of the one class that they are on.
func TestFullSeesKOfEight(t *testing.T) {
	for n := 2; n <= 9; n++ {
		classes := mustClasses(t, n, queens.Full)
		for solution := range oracle.Boards(n) {
			seenOn := make(map[int]int)
			for _, image := range images(solution) {
				for i := range classes {
					if stands(&classes[i].Board, image) {
						seenOn[classes[i].K]++
					}
				}
			}
			if len(seenOn) != 1 {
				t.Fatalf("n=%d: %v is seen with weights of k = %v", n, solution, seenOn)
			}
			for k, seen := range seenOn {
				if seen != k {
					t.Errorf("n=%d: %v is seen %d times, each as one of %d", n, solution, seen, k)
				}
			}
		}
	}
}

// On a board of side 2 any top queen is in a corner, and so is every queen: there is
// no class. The middle class of side 3 has no solution.
func TestFullOfTheSmallest(t *testing.T) {
	if classes := mustClasses(t, 2, queens.Full); len(classes) != 0 {
		t.Errorf("n=2: classes %v", classes)
	}
	classes := mustClasses(t, 3, queens.Full)
	want := [3]uint32{0b010, 0b000, 0b101}
	if len(classes) != 1 || classes[0].K != 2 || [3]uint32(classes[0].Board.Allow[:3]) != want {
		t.Errorf("n=3: classes %v", classes)
	}
}

// The sightings of n = 8 by k. Of its twelve kinds of solutions, five are seen once
// and six twice; the one that a half turn maps to itself has four images instead of
// eight, and is seen once with the weight of k = 2: 5·8 + (6·2 + 1)·4 = 92.
func TestFullSumsOfEight(t *testing.T) {
	var byK [9]uint64
	var sums symmetry.Sums
	for _, class := range mustClasses(t, 8, queens.Full) {
		found := oracle.Count(8, func(row, column int) bool { return class.Board.Allow[row]>>column&1 == 1 }, nil)
		byK[class.K] += found
		sums.Add(class.K, found)
	}
	if total, err := sums.Total(); err != nil || total.Int64() != 92 {
		t.Errorf("sums %v make %v (error %v)", byK, total, err)
	}
	if want := [9]uint64{1: 5, 2: 6*2 + 1}; byK != want {
		t.Errorf("sums by k are %v, want %v", byK, want)
	}
}

// On the widest board, where column 31 is the last bit, the top queen and those of
// tied sides stand alone on their rows, and no other queen is fixed.
func TestFullAtTheEdge(t *testing.T) {
	classes := mustClasses(t, 32, queens.Full)
	for i, d := range definitions(32) {
		b := &classes[i].Board
		for side, square := range [4][2]int{{0, d.a}, {d.a, 31}, {31, 31 - d.a}, {31 - d.a, 0}} {
			alone := b.Allow[square[0]] == 1<<square[1]
			if fixed := side == 0 || d.tied>>(side-1)&1 == 1; fixed != alone {
				t.Errorf("class %d: side %d fixed: %v, want %v", i, side, alone, fixed)
			}
		}
	}
}
