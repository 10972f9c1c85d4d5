package run

import "fmt"

// Bottleneck is what limits the speed of a run, in a word; empty if that is not known.
type Bottleneck string

// The bounds. An estimate may name any of them, a run that counts only some:
// [nqueens/pkg/progress.BoundMeter].
const (
	BySearch   Bottleneck = "search"
	ByTail     Bottleneck = "tail"
	ByMessages Bottleneck = "messages"
	ByLedger   Bottleneck = "ledger"
	ByWindow   Bottleneck = "window"
	ByPlanning Bottleneck = "planning"
	ByStart    Bottleneck = "start"
)

// Explanation says for people what the word means.
func (b Bottleneck) Explanation() string {
	return map[Bottleneck]string{
		BySearch:   "more threads make it faster",
		ByTail:     "threads wait for the last tasks",
		ByMessages: "chunks through the server",
		ByLedger:   "results into the ledger",
		ByWindow:   "fewer chunks in flight than threads",
		ByPlanning: "numbering the tasks, and the audit",
		ByStart:    "start and stop",
	}[b]
}

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
