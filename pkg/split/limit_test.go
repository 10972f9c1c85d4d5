package split

import (
	"errors"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
)

// The tasks are numbered up to the bound and not beyond it, in time and memory of that bound: a manifest may be
// forged.
func TestTooManyTasks(t *testing.T) {
	classes, err := symmetry.Classes(32, queens.None)
	if err != nil {
		t.Fatal(err)
	}
	const pairs = 930 // of queens on two rows
	for _, c := range []struct {
		depth    int
		most     uint64
		tooLarge bool
	}{{2, pairs, false}, {2, pairs - 1, true}, {7, pairs, true}, {30, pairs, true}} {
		x, err := newIndex(t.Context(), uniformPlans(classes, c.depth), c.most)
		if errors.Is(err, ErrTooLarge) != c.tooLarge || x.Tasks() > 2*c.most+markPrefixes {
			t.Errorf("depth %d, at most %d tasks: %d tasks, error %v", c.depth, c.most, x.Tasks(), err)
		}
	}
}
