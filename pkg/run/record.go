package run

import (
	"errors"
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
	Bound      Bound     `json:"bound,omitempty"` // What bounds the run, if it is known.
	// Pace is how far the run was at Updated, and how fast; nil before the first snapshot.
	Pace *Pace `json:"pace,omitempty"`
	// Total is the total of a complete run, in decimal digits; otherwise it is empty.
	Total string `json:"total,omitempty"`
	// Confirmation says what stands behind the total of a complete run; otherwise it is zero.
	Confirmation Confirmation `json:"confirmation,omitzero"`
	Created      time.Time    `json:"created"`
	Updated      time.Time    `json:"updated"`
}

// maxDigits bounds a total, in decimal digits: those of maxBits bits.
const maxDigits = 78

// ParseTotal returns the total of a record from outside, or nil if it has none. Only that of a complete
// run has one, in the form that [big.Int] writes.
func (r *Record) ParseTotal() (*big.Int, error) {
	if r.Total == "" {
		return nil, nil //nolint:nilnil // a run that is not complete has no total
	}
	if r.State != Complete {
		return nil, fmt.Errorf("a total, and the state %s", r.State)
	}
	if len(r.Total) <= maxDigits {
		if total, ok := new(big.Int).SetString(r.Total, 10); ok && total.String() == r.Total && isCount(total) {
			return total, nil
		}
	}
	return nil, fmt.Errorf("the total %.100q, which is no number of solutions", r.Total)
}

// ValidateConfirmation returns the first thing wrong with the confirmation of a record from outside.
func (r *Record) ValidateConfirmation() error {
	c := &r.Confirmation
	switch {
	case *c == Confirmation{}:
		return nil
	case r.State != Complete:
		return fmt.Errorf("what stands behind a total, and the state %s", r.State)
	case c.Tasks > r.Manifest.Tasks:
		return fmt.Errorf("counts of %d tasks of %d", c.Tasks, r.Manifest.Tasks)
	case c.Published && r.Manifest.KnownTotal() == nil:
		return errors.New("a published total where none is published")
	}
	return c.Validate()
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
