package run_test

import (
	"testing"

	"nqueens/pkg/run"
)

// A run is finished when it was counted to its end or cancelled; any other can go on,
// also one in a state that another version of the program gave it.
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
