package run

import "fmt"

// Bottleneck is what limits the speed of a run, in a word; empty if that is not known.
type Bottleneck string

// The bounds. An estimate may name any of them, a run that counts only some:
// [nqueens/pkg/progress.BoundMeter].
const (
	BySearch   Bottleneck = "search"   // The threads: more of them make the run faster.
	ByTail     Bottleneck = "tail"     // Threads wait for the last tasks of others.
	ByMessages Bottleneck = "messages" // Chunks through the server.
	ByLedger   Bottleneck = "ledger"   // Results into the ledger.
	ByWindow   Bottleneck = "window"   // Chunks in flight: fewer than threads.
	ByPlanning Bottleneck = "planning" // Numbering the tasks, and the audit.
	ByStart    Bottleneck = "start"    // Start and stop of the command.
)

// maxBottleneck bounds the length of a bound: later versions may know others.
const maxBottleneck = 16

// Validate returns an error unless the bound is empty or a word in lower-case letters.
func (b Bottleneck) Validate() error {
	valid := len(b) <= maxBottleneck
	for _, letter := range b {
		valid = valid && 'a' <= letter && letter <= 'z'
	}
	if !valid {
		return fmt.Errorf("a bound that is not a word of at most %d lower-case letters: %.80q", maxBottleneck, string(b))
	}
	return nil
}

// Phrase says for people what bounds a run: bounded by the ledger. It is empty for an unknown
// bound, and for the search, which bounds most runs.
func (b Bottleneck) Phrase() string {
	switch b {
	case "", BySearch:
		return ""
	case ByMessages, ByPlanning:
		return "bounded by " + string(b)
	}
	return "bounded by the " + string(b)
}
