package core

import (
	"container/list"
	"time"

	"nqueens/pkg/queens"
)

// worker is a worker process.
type worker struct {
	process queens.Process
	number  uint64        // of the process in this run, from 1
	present bool          // it takes part: it is neither silent for too long nor has it left
	heard   time.Duration // when its last message came
	asked   time.Duration // when its last request came
	waits   time.Duration // when its oldest request without an answer came
	request Request       // its last request, without the listed chunks; Number is 0 before the first
	kept    bool          // the request is kept: it has no answer yet
	drops   []queens.Range
	rate    rate
	tasks   uint64 // that it counted since this start
	results uint64 // recorded since this start
	chunks  int    // that it holds, as Core.refresh has counted them last

	// its places in the lists of the fleet; nil if it is in none
	inOrder, inUser, inKept, inWanting, inRefused *list.Element

	summed part       // what it adds to the sums of the fleet
	speed  *speedNode // nil unless it is present and its speed is known
}

// wants reports whether a kept request of the worker asks for work.
func (w *worker) wants() bool { return w.kept && w.request.Want > 0 }

// rate measures the mean speed of a worker's searchers over the last results.
type rate struct {
	work      float64 // estimated, as part of the run
	solutions float64 // that it found
	seconds   float64 // in which a searcher did that work
}

// memory is the search time, in seconds, after which a result counts about half as much in a rate.
const memory = 60

// add adds a result.
func (r *rate) add(work, solutions float64, searched time.Duration) {
	seconds := max(searched, time.Microsecond).Seconds()
	keep := memory / (memory + seconds)
	r.work, r.solutions, r.seconds = r.work*keep+work, r.solutions*keep+solutions,
		r.seconds*keep+seconds
}

// speed returns the work that a searcher does in a second; 0 while it is unknown.
func (r *rate) speed() float64 { return r.work / max(r.seconds, 1e-6) }
