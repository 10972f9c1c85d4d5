package queens

import "fmt"

// State says whether a run goes on, or how it ended.
type State string

// The states of a run.
const (
	Running      State = "running"
	Stopped      State = "stopped"      // it can be resumed
	Complete     State = "complete"     // it has a total
	Contradicted State = "contradicted" // its total contradicts the published one, or two ways to compute it disagree
)

// Validate returns an error unless s is one of the states.
func (s State) Validate() error {
	if s == Running || s == Stopped || s.Ended() {
		return nil
	}
	return fmt.Errorf("no run has the state %.80q", s)
}

// Ended reports whether nothing is left to resume.
func (s State) Ended() bool { return s == Complete || s == Contradicted }
