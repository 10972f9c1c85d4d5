package run

import "fmt"

// Bound is what bounds the speed of a run, in a word; empty if that is not known.
type Bound string

// The bounds. An estimate may name any of them, a run that counts only some:
// [nqueens/pkg/progress.BoundMeter].
const (
	BySearch   Bound = "search"
	ByTail     Bound = "tail"
	ByMessages Bound = "messages"
	ByLedger   Bound = "ledger"
	ByWindow   Bound = "window"
	ByPlanning Bound = "planning"
	ByStart    Bound = "start"
)

// Explanation says for people what the word means.
func (b Bound) Explanation() string {
	return map[Bound]string{
		BySearch:   "more threads make it faster",
		ByTail:     "threads wait for the last tasks",
		ByMessages: "chunks through the server",
		ByLedger:   "results into the ledger",
		ByWindow:   "fewer chunks in flight than threads",
		ByPlanning: "numbering the tasks, and the audit",
		ByStart:    "start and stop",
	}[b]
}

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
