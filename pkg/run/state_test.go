package run_test

import (
	"testing"

	"nqueens/pkg/run"
)

// A run is finished if it was counted completely or cancelled. Any other can be resumed, also
// one in a state that only another version of the program knows.
func TestFinished(t *testing.T) {
	for state, want := range map[run.State]bool{
		run.Running:      false,
		run.Stopped:      false,
		run.Complete:     true,
		run.Contradicted: true,
		run.Cancelled:    true,
		"":               false,
		"unknown":        false,
	} {
		if got := state.Finished(); got != want {
			t.Errorf("a run that is %q is finished: %v, want %v", state, got, want)
		}
	}
}
