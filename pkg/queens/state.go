package queens

import "fmt"

// State says whether a run goes on, or how it ended.
type State string

// The states of a run.
const (
	Running     State = "running"
	Interrupted State = "interrupted" // its coordinator did not record an end: it can be resumed
	// its coordinator has ended in an orderly way: it can be resumed
	Stopped  State = "stopped"
	Complete State = "complete" // it has a total
	// its total contradicts the published one, or two ways to compute it disagree
	Contradicted State = "contradicted"
)

// Validate returns an error unless s is one of the states.
func (s State) Validate() error {
	if s == Running || s.Resumes() || s.Ended() {
		return nil
	}
	return fmt.Errorf("no run has the state %.80q", s)
}

// Resumes reports whether no coordinator works on the run, and one can go on with it.
func (s State) Resumes() bool { return s == Interrupted || s == Stopped }

// Ended reports whether nothing is left to resume.
func (s State) Ended() bool { return s == Complete || s == Contradicted }
