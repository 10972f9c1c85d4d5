package run

import "fmt"

// State says how far a run has come, or how it ended.
type State string

// The states of a run.
const (
	Running      State = "running"
	Stopped      State = "stopped"      // By a person, or incomplete. It can be resumed.
	Complete     State = "complete"     // It has a total.
	Contradicted State = "contradicted" // Its total contradicts the published one, or another route to it.
	Cancelled    State = "cancelled"    // By a person, for good.
)

// Validate returns an error unless s is one of the states.
func (s State) Validate() error {
	if s == Running || s == Stopped || s.Finished() {
		return nil
	}
	return fmt.Errorf("no run has the state %.80q", s)
}

// Finished reports whether there is nothing left to resume.
func (s State) Finished() bool {
	return s == Complete || s == Contradicted || s == Cancelled
}
