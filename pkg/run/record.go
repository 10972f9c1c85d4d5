package run

import (
	"cmp"
	"fmt"
	"math/big"
	"time"

	"nqueens/pkg/queens"
)

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
	err := cmp.Or(queens.ValidateRun(r.Run), r.State.Validate(), ValidateEpoch(r.Epoch), queens.ValidateName("an owner", r.Owner))
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
