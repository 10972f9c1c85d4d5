package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
)

// Quarantined is a key from which nothing is accepted any more, and why.
type Quarantined struct {
	Key    string    `json:"key"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	Task   uint64    `json:"task"` // The task of which the key gave a wrong count.
	// Unadmitted says that the key was not admitted when it gave the wrong count.
	Unadmitted bool `json:"unadmitted,omitempty"`
}

// covers reports whether a result is of a quarantined key.
func (q *Quarantined) covers(r *queens.Result) bool { return r.Key == q.Key }

// quarantine is a record of the file.
type quarantine struct {
	Quarantined
	// Voiding says that results of the key still count, of tasks from Next on and in disputes.
	Voiding bool   `json:"voiding,omitempty"`
	Next    uint64 `json:"next,omitempty"`
}

// maxKeyBytes and maxReasonBytes bound what a quarantine says, in bytes.
const maxKeyBytes, maxReasonBytes = 128, 1024

// Quarantined returns the quarantined keys, in the order in which they were quarantined.
func (l *Ledger) Quarantined() []Quarantined {
	var all []Quarantined
	for _, q := range l.quarantines {
		all = append(all, q.Quarantined)
	}
	slices.SortFunc(all, func(a, b Quarantined) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Key, b.Key)) })
	return all
}

// ErrNotQuarantined says that a key has no quarantine to lift.
var ErrNotQuarantined = errors.New("is not quarantined")

// IsQuarantined reports whether a key is quarantined.
func (l *Ledger) IsQuarantined(key string) bool {
	_, ok := l.quarantines[key]
	return ok
}

// Quarantine stores that nothing is accepted from a key any more. Its accepted results count until
// [Ledger.Void] has voided them. A key that is quarantined already stays as it is. Errors of the disk
// or the file are those of [Ledger.Accept].
func (l *Ledger) Quarantine(q Quarantined) error {
	switch {
	case q.Key == "" || q.Key == queens.Referee || q.Key == queens.Checker || len(q.Key) > maxKeyBytes:
		return fmt.Errorf("the key %.80q can't be quarantined: it is not that of a worker", q.Key)
	case len(q.Reason) > maxReasonBytes:
		return fmt.Errorf("the reason of a quarantine has %d bytes, more than %d", len(q.Reason), maxReasonBytes)
	case l.IsQuarantined(q.Key):
		return l.failed.get()
	}
	q.At = canonicalTime(q.At)
	record := quarantine{Quarantined: q, Voiding: true}
	err := l.update(func(tx *bbolt.Tx) error { return putJSON(tx, quarantineBucket, []byte(q.Key), record) })
	if err == nil {
		l.setQuarantine(record)
	}
	return err
}

// Lift ends the quarantine of a key: later results of the key count again. Voided results stay
// void. It is an error if the key is not quarantined, or some of its results are still to be voided.
func (l *Ledger) Lift(key string) error {
	switch q, ok := l.quarantines[key]; {
	case !ok:
		return fmt.Errorf("the key %.80q %w", key, ErrNotQuarantined)
	case q.Voiding:
		return fmt.Errorf("the results of the key %.80q are being voided: try again", key)
	}
	err := l.update(func(tx *bbolt.Tx) error { return tx.Bucket(quarantineBucket).Delete([]byte(key)) })
	if err == nil {
		delete(l.quarantines, key)
	}
	return err
}

// setQuarantine notes what the file says of a key, or will say with the next results that are voided.
func (l *Ledger) setQuarantine(q quarantine) {
	delete(l.voiding, q.Key)
	if q.Voiding {
		l.voiding[q.Key] = struct{}{}
	} else {
		delete(l.voters, q.Key) // none of its results counts any more
	}
	l.quarantines[q.Key] = q
}

func (l *Ledger) loadQuarantines(tx *bbolt.Tx) error {
	l.quarantines, l.voiding = make(map[string]quarantine), make(map[string]struct{})
	return tx.Bucket(quarantineBucket).ForEach(func(key, record []byte) error {
		value, err := verifyChecksum(quarantineBucket, key, record)
		var q quarantine
		if err == nil {
			err = json.Unmarshal(value, &q)
		}
		if err == nil && q.Key != string(key) {
			err = fmt.Errorf("it is of key %.80q", q.Key)
		}
		if err != nil {
			return fmt.Errorf("the quarantine of %.80q: %w", key, err)
		}
		l.setQuarantine(q)
		return nil
	})
}
