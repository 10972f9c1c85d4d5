package enumerate_test

import (
	"fmt"
	"testing"

	"nqueens/pkg/enumerate"
)

// Construct returns a solution for every side but 2 and 3, up to the greatest that the command
// accepts.
func TestAny(t *testing.T) {
	sides := []int{10_000, 10_001, 99_998, 99_999, 123_456, 500_000, 524_288, 777_777}
	for n := 1; n <= 2000; n++ {
		sides = append(sides, n)
	}
	for n := 999_988; n <= 1_000_000; n++ { // every remainder of a division by 12
		sides = append(sides, n)
	}
	for _, n := range sides {
		columns := enumerate.Construct(n)
		switch none := n == 2 || n == 3; {
		case none && columns != nil:
			t.Errorf("n=%d has the board %v, want none", n, columns)
		case !none && len(columns) != n:
			t.Errorf("n=%d: %d queens", n, len(columns))
		default:
			if err := attack(columns); err != nil {
				t.Errorf("n=%d: %v", n, err)
			}
		}
	}
}

// attack returns nil when no two queens attack each other.
func attack(columns []int) error {
	n := len(columns)
	column, sum, difference := make([]bool, n), make([]bool, 2*n), make([]bool, 2*n)
	for row, c := range columns {
		if c < 0 || c >= n {
			return fmt.Errorf("the queen of row %d is on column %d", row, c)
		}
		if column[c] || sum[row+c] || difference[row-c+n] {
			return fmt.Errorf("the queen of row %d, column %d, is attacked", row, c)
		}
		column[c], sum[row+c], difference[row-c+n] = true, true, true
	}
	return nil
}

// attack detects queens that attack each other.
func TestAttack(t *testing.T) {
	for _, columns := range [][]int{{0, 0}, {0, 1}, {1, 0}, {1, 3, 0, 1}, {2, 0, 1, 3}, {1, 3, 0, 4}, {-1}} {
		if attack(columns) == nil {
			t.Errorf("%v is taken for a solution", columns)
		}
	}
	if err := attack([]int{1, 3, 0, 2}); err != nil {
		t.Error(err)
	}
}

func BenchmarkAny(b *testing.B) {
	for b.Loop() {
		enumerate.Construct(1_000_000)
	}
}
