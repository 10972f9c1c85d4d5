// Package run is the plain data of a run over time: its name and state, its record on the
// server, what coordinator and workers report, and positions in the stream of results. It
// does no I/O and starts no goroutine. What is counted is in package queens.
package run

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/queens"
)

// NewName returns a name for a run of board side n that starts at the given time, such as
// n18-20261120-153012-ab12.
func NewName(n int, at time.Time) string {
	var suffix [2]byte
	rand.Read(suffix[:]) // never fails, see crypto/rand
	return fmt.Sprintf("n%d-%s-%s", n, at.UTC().Format("20060102-150405"), hex.EncodeToString(suffix[:]))
}

var wholeName = regexp.MustCompile(`^n\d+-\d{8}-\d{6}-[0-9a-f]{4}$`)

// IsWholeName reports whether a text has the form of the names that [NewName] returns: it then begins no
// other name.
func IsWholeName(text string) bool { return wholeName.MatchString(text) }

// ValidateSide returns an error if a name of the form of those of [NewName] is that of a board of another side than n: a
// person who gives it asks for that board.
func ValidateSide(name string, n int) error {
	if IsWholeName(name) && !strings.HasPrefix(name, fmt.Sprintf("n%d-", n)) {
		return fmt.Errorf("the name %s, and a manifest of n = %d", name, n)
	}
	return nil
}

// ErrAmbiguous says that a text begins the names of several runs.
var ErrAmbiguous = errors.New("give more of the name")

// FindName returns the name that a person means: the text itself if it is one of the names, or else the only
// one that begins so. It returns "" if there is none, and an error that wraps [ErrAmbiguous] if there are several. Other parts
// of a name, such as a single digit, name no run: they often occur in the name of another.
func FindName(text string, names []string) (string, error) {
	if slices.Contains(names, text) {
		return text, nil
	}
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, text) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	const most = 8 // are named
	switch {
	case len(found) == 0:
		return "", nil
	case len(found) == 1:
		return found[0], nil
	case len(found) > most:
		found = append(found[:most:most], fmt.Sprintf("and %d more", len(found)-most))
	}
	return "", fmt.Errorf("%q begins the names of several runs: %s: %w", text, strings.Join(found, ", "), ErrAmbiguous)
}

// State says how far a run has come, or how it ended.
type State string

// The states of a run.
const (
	Running      State = "running"
	Stopped      State = "stopped"      // By a person, or incomplete. It can be resumed.
	Complete     State = "complete"     // It has a total.
	Contradicted State = "contradicted" // Its total contradicts the published one, or another route to it.
	Cancelled    State = "cancelled"    // By a person, for good.
)

// Validate returns an error unless s is one of the states.
func (s State) Validate() error {
	if s == Running || s == Stopped || s.Finished() {
		return nil
	}
	return fmt.Errorf("no run has the state %.80q", s)
}

// Finished reports whether there is nothing left to resume.
func (s State) Finished() bool {
	return s == Complete || s == Contradicted || s == Cancelled
}

// Record is what the server stores about a run, for watchers and for a coordinator that
// takes the run over.
type Record struct {
	Run      string          `json:"run"`
	Manifest queens.Manifest `json:"manifest"`
	State    State           `json:"state"`
	// Epoch is 1 for the run's first coordinator, and one more for each that takes the run
	// over. The run belongs to the coordinator of the highest epoch.
	Epoch uint64 `json:"epoch"`
	Owner string `json:"owner"`          // The coordinator of that epoch, for people.
	Done  uint64 `json:"done"`           // Tasks with an accepted result at Updated.
	Lost  uint64 `json:"lost,omitempty"` // How often a task had lost its result by then.
	// Redundancy is how many voters must agree on each task, from 1, and SpotCheck says which tasks are checked
	// besides that.
	Redundancy int       `json:"redundancy"`
	SpotCheck  SpotCheck `json:"spotCheck"`
	// Snapshot is the latest one, without workers; nil before the first. That of a complete run has the total.
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
}

// Total returns the total of a complete run, or nil.
func (r *Record) Total() *big.Int {
	if r.State != Complete || r.Snapshot == nil {
		return nil
	}
	return (*big.Int)(r.Snapshot.Total)
}

// Validate returns the first thing wrong with a record from outside, apart from its manifest.
func (r *Record) Validate() error {
	err := cmp.Or(queens.ValidateRun(r.Run), r.State.Validate(), ValidateEpoch(r.Epoch), queens.ValidateName("an owner", r.Owner), ValidateSide(r.Run, r.Manifest.N))
	if err == nil && r.Redundancy < 1 {
		err = fmt.Errorf("the redundancy %d, not 1 or more", r.Redundancy)
	}
	if err != nil || r.Snapshot == nil {
		return err
	}
	if err := r.Snapshot.Validate(); err != nil {
		return err
	}
	if r.Snapshot.State.Finished() && r.Snapshot.State != r.State {
		return fmt.Errorf("the state %s, and a snapshot of a run that is %s", r.State, r.Snapshot.State)
	}
	return r.Snapshot.Matches(r.Run, &r.Manifest)
}

// MaxEpoch bounds epochs from outside: no run is taken over so often, and an epoch near the
// greatest number could not be followed by another.
const MaxEpoch = 1 << 62

// ValidateEpoch returns an error unless an epoch from outside is 1 to [MaxEpoch].
func ValidateEpoch(epoch uint64) error {
	if epoch == 0 || epoch > MaxEpoch {
		return fmt.Errorf("the epoch %d, not 1 to %d", epoch, uint64(MaxEpoch))
	}
	return nil
}

// StaleAfter is how long after its last update the record of a running coordinator means
// that it is dead: several times the interval at which it renews the record.
const StaleAfter = 15 * time.Second

// IsActive reports whether the run's coordinator has renewed the record within
// [StaleAfter].
func (r *Record) IsActive() bool {
	return r.State == Running && time.Since(r.Updated) < StaleAfter
}

// StreamPosition is a place in the stream of results. It is a hint: a server may lose the end of a stream
// and store other messages under the same sequences, which Stored shows.
type StreamPosition struct {
	// Created is the creation time of the stream, which tells it from a later one with the
	// same name: that counts from 1 again. It is zero if nothing was read yet.
	Created time.Time `json:"stream"`
	// Sequence is that of the last result read, or 0.
	Sequence uint64 `json:"sequence"`
	// Stored is when the server stored that result, to the nanosecond: another message under the same
	// sequence has another time.
	Stored time.Time `json:"stored"`
}

// The ways in which a run ends without a confirmed total. Errors wrap one of these and add
// what happened to what; commands turn them into exit codes.
var (
	// ErrContradiction: the total contradicts the published one, or another route to it.
	ErrContradiction = queens.ErrContradiction
	// ErrIncomplete: the run stopped before every task had one accepted count. It can be
	// resumed.
	ErrIncomplete = queens.ErrIncomplete
	// ErrCancelled: the run was cancelled, for good.
	ErrCancelled = errors.New("the run was cancelled")
	// ErrNoConnection: no server could be reached, or it refused the credentials.
	ErrNoConnection = queens.ErrNoConnection
)
