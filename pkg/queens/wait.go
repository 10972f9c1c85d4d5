package queens

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Reason says for what a process waits. These are all reasons: log, terminal, page, JSON and
// metrics show the same one.
type Reason string

// The reasons for waiting.
const (
	NoServer  Reason = "no_server"  // no server accepts a connection
	NoWorkers Reason = "no_workers" // of a coordinator: none is present
	// of a coordinator: the present witnesses have counted all that waits
	OtherMachine  Reason = "other_machine"
	WorkersReport Reason = "workers_report" // of a resumed coordinator: workers say what they hold
	Recounting    Reason = "recounts"       // of a coordinator: it counts tasks again
	// of a coordinator: a second witness counts the last drawn tasks
	SpotChecks Reason = "spot_checks"
	// of a coordinator: it computes the total from the ledger
	Auditing      Reason = "audit"
	NoCoordinator Reason = "no_coordinator" // of a worker or a watcher: none is heard
	// of a worker or a watcher: the coordinator is no longer heard
	SilentOne Reason = "silent"
	// of a worker: the coordinator is heard, and does not answer
	NoReplies Reason = "no_replies"
	NoWork    Reason = "no_work" // of a worker: its coordinators have none for it
	// of a worker: the coordinator accepts nothing from its machine
	MachineBanned Reason = "machine_banned"
	OtherProtocol Reason = "another_protocol" // of a worker: the coordinator has another version
)

// sentences has for each reason what is waited for, and what would help in general.
var sentences = map[Reason][2]string{
	NoServer:  {"waiting for a server", "start the server, or correct its address"},
	NoWorkers: {"waiting for workers", "start a worker"},
	OtherMachine: {"waiting for another witness",
		"start a worker on another machine, or of an invited user"},
	WorkersReport: {"waiting for workers to say what they hold", ""},
	Recounting:    {"waiting for recounts by the coordinator", ""},
	SpotChecks:    {"waiting for spot checks", ""},
	Auditing:      {"auditing the ledger", ""},
	NoCoordinator: {"waiting for a coordinator", "start or resume a count on this server"},
	SilentOne:     {"waiting for the coordinator", "resume the run where its ledger is"},
	NoReplies:     {"waiting for replies", "look at the log and the machine of the coordinator"},
	NoWork:        {"waiting for work", ""},
	MachineBanned: {"this machine is banned", "check its memory and its cooling"},
	OtherProtocol: {"waiting for a coordinator of this version",
		"use the same version of both programs"},
}

// Reasons returns all reasons, in order.
func Reasons() []Reason {
	all := make([]Reason, 0, len(sentences))
	for r := range sentences {
		all = append(all, r)
	}
	slices.Sort(all)
	return all
}

// Wait says for what a process waits, since when, and what would help.
type Wait struct {
	Reason Reason    `json:"reason"`
	Since  time.Time `json:"since"`
	// the cause, if the reason does not say all; at most 512 bytes
	Why string `json:"why,omitempty"`
	// a command or a hint that fits better than the general one
	Help string `json:"help,omitempty"`
}

// MarshalJSON encodes a wait. Help is what [Wait.Advice] returns, so every reader has it.
func (w *Wait) MarshalJSON() ([]byte, error) {
	type fields Wait
	encoded := fields(*w)
	encoded.Help = w.Advice()
	return json.Marshal(encoded)
}

// Short returns what is waited for: waiting for a server.
func (w *Wait) Short() string { return sentences[w.Reason][0] }

// Text returns what is waited for, and why: waiting for a server: nothing listens at a:4222.
func (w *Wait) Text() string {
	if w.Why == "" {
		return w.Short()
	}
	return w.Short() + ": " + w.Why
}

// Advice returns what would help, or "" if nobody can do anything.
func (w *Wait) Advice() string {
	if w.Help != "" {
		return w.Help
	}
	return sentences[w.Reason][1]
}

// Sentence returns all in a line for people.
func (w *Wait) Sentence() string {
	if advice := w.Advice(); advice != "" {
		return w.Text() + "; what helps: " + advice
	}
	return w.Text()
}

// maxWhy bounds the texts of a [Wait], in bytes.
const maxWhy = 512

// Validate returns an error unless the reason is known and the texts can be shown.
func (w *Wait) Validate() error {
	if _, known := sentences[w.Reason]; !known {
		return fmt.Errorf("nobody waits for the reason %.80q", string(w.Reason))
	}
	for _, text := range []string{w.Why, w.Help} {
		if len(text) > maxWhy || Sanitize(text) != text {
			return fmt.Errorf("a wait with a text that can't be shown: %.80q", text)
		}
	}
	return nil
}
