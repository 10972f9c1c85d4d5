// Package notify tells people what happens to a run: by a webhook, or by a command of theirs. Each event is
// delivered at least once: an [Outbox] in the folder of the run keeps what is not delivered yet, so that another
// process can deliver it after a kill. Nothing of a target, which may be a secret, is in a log, an error or a file.
package notify

import (
	"fmt"
	"math/big"
	"os"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Kind is what has happened to a run.
type Kind string

// The kinds of events.
const (
	Complete     Kind = "complete"     // The run has a total.
	Contradicted Kind = "contradicted" // Its total contradicts what is known.
	Dispute      Kind = "dispute"      // A task has been in dispute for [DisputeAfter].
	Stalled      Kind = "stalled"      // No task was done for [StalledAfter].
)

// Event is what has happened to a run. It is the JSON object that a target gets.
type Event struct {
	// the same each time the event is delivered, and of no other event
	ID       string          `json:"id"`
	Kind     Kind            `json:"event"`              // "complete", "contradicted", "dispute" or "stalled"
	Text     string          `json:"text"`               // one sentence for people
	At       time.Time       `json:"at"`                 // when it happened, in RFC 3339
	Host     string          `json:"host"`               // name of the coordinator's machine
	Run      string          `json:"run"`                // name of the run
	N        int             `json:"n"`                  // side of the board
	Symmetry queens.Symmetry `json:"symmetry"`           // "full", "mirror" or "none"
	Placed   []queens.Square `json:"placed,omitempty"`   // squares of the queens placed beforehand, each [row,column]
	Done     uint64          `json:"done"`               // tasks on which enough voters agree
	Tasks    uint64          `json:"tasks"`              // all tasks
	Total    *run.Decimal    `json:"total,omitzero"`     // number of solutions, of a complete run
	Level    run.Level       `json:"confirmed,omitzero"` // what confirms the total
}

// newEvent returns an event of a run, which the words tell after its name.
func newEvent(kind Kind, s *run.Snapshot, at time.Time, words string) Event {
	host, _ := os.Hostname() // empty if it fails
	board := fmt.Sprintf("%d queens", s.N)
	if len(s.Placed) > 0 {
		board += " with some placed beforehand"
	}
	return Event{
		ID: fmt.Sprintf("%s/%s/%s", s.Run, kind, at.UTC().Format(time.RFC3339)), Kind: kind, At: at.UTC(), Host: host,
		Text: fmt.Sprintf("%s (run %s on %s): %s", board, s.Run, host, words),
		Run:  s.Run, N: s.N, Symmetry: s.Symmetry, Placed: s.Placed, Done: s.Done, Tasks: s.Tasks,
	}
}

// Ended returns the event for the end of a run that is complete or contradicted, and reports false for other states.
// All processes make the same event of the same run.
func Ended(s *run.Snapshot, at time.Time) (e Event, ok bool) {
	switch s.State {
	case run.Complete:
		e = newEvent(Complete, s, at, fmt.Sprintf("%s solutions, confirmed: %s", humanize.Big((*big.Int)(s.Total)), s.Level))
		e.Total, e.Level = s.Total, s.Level
	case run.Contradicted:
		e = newEvent(Contradicted, s, at, "the total contradicts what is known: coordinator verify may tell which count is wrong")
	case run.Running, run.Stopped, run.Cancelled:
		return e, false
	}
	e.ID = s.Run + "/" + string(e.Kind)
	return e, true
}

const (
	// DisputeAfter is how long tasks are in dispute without a break before that is an event. A coordinator settles
	// most disputes by itself within a minute.
	DisputeAfter = 10 * time.Minute
	// StalledAfter is how long no task is done before that is an event.
	StalledAfter = 30 * time.Minute
)

// Watch finds the events of a run that goes on in its snapshots.
type Watch struct {
	done             uint64
	progress, agreed time.Time // when a task was done last, and when none was in dispute
	stalled, dispute bool      // told
}

// Observe returns the events that a snapshot shows, at a time. The times must not fall.
func (w *Watch) Observe(at time.Time, s *run.Snapshot) (events []Event) {
	if s.Done != w.done || w.progress.IsZero() || s.State != run.Running {
		w.done, w.progress, w.stalled = s.Done, at, false
	}
	if s.States.Disputed == 0 || w.agreed.IsZero() {
		w.agreed, w.dispute = at, false
	}
	if !w.stalled && at.Sub(w.progress) >= StalledAfter {
		w.stalled = true
		events = append(events, newEvent(Stalled, s, at, fmt.Sprintf("no task was done for %v: %d of %d are, and there are %d threads",
			StalledAfter, s.Done, s.Tasks, s.Threads)))
	}
	if !w.dispute && at.Sub(w.agreed) >= DisputeAfter {
		w.dispute = true
		events = append(events, newEvent(Dispute, s, at, fmt.Sprintf("%d tasks are in dispute, and have waited %v for further admitted workers",
			s.States.Disputed, DisputeAfter)))
	}
	return events
}
