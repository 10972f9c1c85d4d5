package symmetry_test

import (
	"testing"

	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
)

// distances returns, for the top, right, bottom and left side of a solution, the
// distance of its queen from the nearer corner, and whether the top queen stands in
// the left half or the middle.
func distances(columns []int) (sides [4]int) {
	last := len(columns) - 1
	near := func(i int) int { return min(i, last-i) }
	sides[0], sides[2] = near(columns[0]), near(columns[last])
	for row, column := range columns {
		switch column {
		case last:
			sides[1] = near(row)
		case 0:
			sides[3] = near(row)
		}
	}
	return sides
}

// Every class holds exactly the solutions that its definition says, found by sorting
// all solutions into classes by brute force.
func TestFullClassesByBruteForce(t *testing.T) {
	for n := 4; n <= 10; n++ {
		type key struct{ a, tied int }
		want := make(map[key]uint64)
		for columns := range oracle.Boards(n) {
			sides := distances(columns)
			a := max(sides[0], sides[1], sides[2], sides[3])
			if columns[0] != a { // the images counted have their top queen there
				continue
			}
			k := key{a: a}
			for i, d := range sides[1:] {
				if d == a {
					k.tied |= 1 << i
				}
			}
			want[k]++
		}
		classes, err := symmetry.Classes(n, queens.Full)
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[key]uint64)
		for i, class := range classes {
			got[key{a: 1 + i/8, tied: i % 8}] = oracle.Count(n, func(row, column int) bool {
				return class.Board.Allow[row]>>column&1 == 1
			}, nil)
		}
		for k, count := range want {
			if got[k] != count {
				t.Errorf("n=%d, a=%d, tied %03b: the class has %d solutions, brute force %d", n, k.a, k.tied, got[k], count)
			}
			delete(got, k)
		}
		for k, count := range got {
			if count != 0 {
				t.Errorf("n=%d, a=%d, tied %03b: the class has %d solutions, brute force none", n, k.a, k.tied, count)
			}
		}
	}
}
