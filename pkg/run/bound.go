package run

import "fmt"

// Bound is what bounds the speed of a run, in a word; empty if that is not known.
type Bound string

// The bounds. An estimate may name any of them, a run that counts only some:
// [nqueens/pkg/progress.BoundMeter].
const (
	BySearch   Bound = "search"   // The threads: more of them make the run faster.
	ByTail     Bound = "tail"     // Threads wait for the last tasks of others.
	ByMessages Bound = "messages" // Chunks through the server.
	ByLedger   Bound = "ledger"   // Results into the ledger.
	ByWindow   Bound = "window"   // Chunks in flight: fewer than threads.
	ByPlanning Bound = "planning" // Numbering the tasks, and the audit.
	ByStart    Bound = "start"    // Start and stop of the command.
)

// maxBound bounds the length of a bound: later versions may know others.
const maxBound = 16

// Validate returns an error unless the bound is empty or a word in lower-case letters.
func (b Bound) Validate() error {
	valid := len(b) <= maxBound
	for _, letter := range b {
		valid = valid && 'a' <= letter && letter <= 'z'
	}
	if !valid {
		return fmt.Errorf("a bound that is not a word of at most %d lower-case letters: %.80q", maxBound, string(b))
	}
	return nil
}

// Phrase says for people what bounds a run: bounded by the ledger. It is empty for an unknown
// bound, and for the search, which bounds most runs.
func (b Bound) Phrase() string {
	switch b {
	case "", BySearch:
		return ""
	case ByMessages, ByPlanning:
		return "bounded by " + string(b)
	}
	return "bounded by the " + string(b)
}
