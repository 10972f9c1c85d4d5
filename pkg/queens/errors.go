package queens

import "errors"

// The errors that decide how a command ends; see docs/reference.md for its exit codes.
var (
	// ErrContradiction says that a total, or a count, contradicts the published one or another way to it: exit 3.
	ErrContradiction = errors.New("contradiction")
	// ErrIncomplete says that a run has ended without a total and can be resumed: exit 4.
	ErrIncomplete = errors.New("the run is incomplete")
	// ErrNoConnection says that no server could be reached, or that it refused the credentials: exit 5.
	ErrNoConnection = errors.New("no connection")
)
