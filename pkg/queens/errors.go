package queens

import "errors"

// The ways in which a run ends without a confirmed total. Errors wrap one of these and add
// what happened to what; commands turn them into exit codes.
var (
	// ErrContradiction: the total contradicts the published one, or another route to it.
	ErrContradiction = errors.New("the total contradicts what is known")
	// ErrIncomplete: the run stopped before every task had one accepted count. It can be
	// resumed.
	ErrIncomplete = errors.New("the run is incomplete")
	// ErrCancelled: the run was cancelled, for good.
	ErrCancelled = errors.New("the run was cancelled")
	// ErrNoConnection: no server could be reached, or it refused the credentials.
	ErrNoConnection = errors.New("no connection to the server")
)
