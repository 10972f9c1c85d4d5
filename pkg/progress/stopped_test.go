package progress_test

import (
	"testing"

	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// A run is as far as its tasks say, in parts of the work.
func TestWorkDone(t *testing.T) {
	classes, err := symmetry.Classes(12, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 12, queens.Full, classes, 3)
	if err != nil {
		t.Fatal(err)
	}
	done := make([]uint64, len(m.Classes))
	if got := progress.WorkDone(&m, done); got != 0 {
		t.Errorf("at the start: %v", got)
	}
	for i := range m.Classes {
		done[i] = m.TasksOf(i)
		got, want := progress.WorkDone(&m, done), run.Fraction(split.WorkDone(&m, split.Shares(&m), done))
		if i < len(m.Classes)-1 && got != want {
			t.Errorf("after class %d: %v, want %v", i, got, want)
		}
	}
	if got := progress.WorkDone(&m, done); got != 1 {
		t.Errorf("at the end: %v", got)
	}
	if got := progress.WorkDone(&queens.Manifest{N: 2}, nil); got != 1 {
		t.Errorf("without tasks: %v", got)
	}
}
