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
	for depth, tooLarge := range map[int]bool{2: false, 30: true} {
		m := queens.Manifest{N: 32, Symmetry: queens.None, Classes: uniformPlans(classes, depth)}
		const most = 930 // pairs of queens on two rows
		if err := assignIDs(t.Context(), &m, most); errors.Is(err, ErrTooLarge) != tooLarge || m.Tasks > most+maxPartTasks {
			t.Errorf("depth %d: %d tasks, error %v", depth, m.Tasks, err)
		}
	}
}
