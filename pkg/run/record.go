package run

import (
	"time"

	"nqueens/pkg/queens"
)

// State says how far a run has come, or how it ended.
type State string

// The states of a run.
const (
	Running      State = "running"
	Stopped      State = "stopped"      // by a person, or incomplete: resume goes on with it
	Complete     State = "complete"     // its total was given
	Contradicted State = "contradicted" // its total contradicts what is known
	Cancelled    State = "cancelled"    // by a person, for good
)

// Finished reports whether there is nothing to go on with.
func (s State) Finished() bool {
	return s == Complete || s == Contradicted || s == Cancelled
}

// Record is what the server knows of a run, for those who look from elsewhere, and
// for a coordinator that takes the run over.
type Record struct {
	Run      string
	Manifest queens.Manifest
	State    State
	// Epoch is 1 for the run's first coordinator and grows by 1 with each that takes
	// the run over. The newest has the run.
	Epoch   uint64
	Owner   string // The coordinator of that epoch, for people.
	Done    uint64 // Tasks with an accepted result, when the record was updated.
	Created time.Time
	Updated time.Time
}

// StaleAfter is how long a coordinator may fail to renew its record before it is presumed
// dead: several times the interval at which it does.
const StaleAfter = 15 * time.Second

// IsActive reports whether the run's coordinator has renewed the record within
// [StaleAfter].
func (r *Record) IsActive() bool {
	return r.State == Running && time.Since(r.Updated) < StaleAfter
}

// StreamPosition is a place in the stream of results.
type StreamPosition struct {
	// Created is the time at which the stream was made: one made anew counts from 1
	// again. It is the zero time where nothing was read yet.
	Created time.Time
	// Sequence is that of the last result read, or 0.
	Sequence uint64
}
