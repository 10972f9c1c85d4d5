package queens

import "errors"

// The errors that decide the exit code of a command: see docs/reference.md.
var (
	// ErrContradiction says that a total contradicts the published total, or that a number was
	// computed in two ways that disagree: exit 3.
	ErrContradiction = errors.New("contradiction")
	// ErrIncomplete says that a run has no total yet, but can be resumed: exit 4.
	ErrIncomplete = errors.New("the run is incomplete")
	// ErrNoConnection says that no server could be reached, or that the server can't be used: exit 5.
	ErrNoConnection = errors.New("no connection")
)
