package queens_test

import (
	"testing"

	"nqueens/pkg/queens"
)

// A run is finished when it was counted to its end or cancelled; any other can go on,
// also one in a state that another version of the program gave it.
func TestFinished(t *testing.T) {
	for state, want := range map[queens.State]bool{
		queens.Running:      false,
		queens.Stopped:      false,
		queens.Complete:     true,
		queens.Contradicted: true,
		queens.Cancelled:    true,
		"":                  false,
		"unknown":           false,
	} {
		if got := state.Finished(); got != want {
			t.Errorf("a run that is %q is finished: %v, want %v", state, got, want)
		}
	}
}
