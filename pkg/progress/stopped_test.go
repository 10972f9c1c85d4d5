package progress_test

import (
	"testing"

	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// A run that nobody works on is as far as its tasks say, in shares of the work, and has neither rate
// nor forecast.
func TestStopped(t *testing.T) {
	classes, err := symmetry.Classes(12, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 12, queens.Full, classes, 3)
	if err != nil {
		t.Fatal(err)
	}
	done := make([]uint64, len(m.Classes))
	if got := progress.Stopped(&m, done); got != (run.Pace{}) {
		t.Errorf("at the start: %+v", got)
	}
	for i := range m.Classes {
		done[i] = m.TasksOf(i)
		got := progress.Stopped(&m, done)
		sum := uint64(0)
		for _, n := range done {
			sum += n
		}
		want := run.Pace{Done: sum, WorkDone: split.WorkDone(&m, split.Shares(&m), done)}
		if got != want {
			t.Errorf("after class %d: %+v, want %+v", i, got, want)
		}
	}
	if got := progress.Stopped(&m, done); got.Done != m.Tasks || got.WorkDone != 1 {
		t.Errorf("at the end: %+v", got)
	}
	if got := progress.Stopped(&queens.Manifest{N: 2}, nil); got.WorkDone != 1 {
		t.Errorf("without tasks: %+v", got)
	}
}
