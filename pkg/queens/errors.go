package queens

import "errors"

// The ways in which a run ends without a total that can be believed. Errors wrap
// one of these and say what happened to what; commands turn them into exit codes.
var (
	// ErrContradiction: the sum contradicts the known value or another route to it.
	ErrContradiction = errors.New("the total contradicts what is known")
	// ErrIncomplete: the run stopped before every task had one accepted count. It can
	// be resumed.
	ErrIncomplete = errors.New("the run is incomplete")
	// ErrCancelled: a person has ended the run for good.
	ErrCancelled = errors.New("the run was cancelled")
	// ErrNoConnection: no server could be reached, or it refused the credentials.
	ErrNoConnection = errors.New("no connection to the server")
)
