package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"

	"go.etcd.io/bbolt"
)

// quarantine is a record of the file.
type quarantine struct {
	run.QuarantinedKey
	// Revoking says that results of the key still count, of tasks from Next on.
	Revoking bool   `json:"revoking,omitempty"`
	Next     uint64 `json:"next,omitempty"`
}

// maxKeyBytes and maxReasonBytes bound what a quarantine says, in bytes.
const maxKeyBytes, maxReasonBytes = 128, 1024

// Quarantined returns the quarantined keys, in the order in which they were quarantined.
func (l *Ledger) Quarantined() []run.QuarantinedKey {
	var all []run.QuarantinedKey
	for _, q := range l.quarantines {
		all = append(all, q.QuarantinedKey)
	}
	slices.SortFunc(all, func(a, b run.QuarantinedKey) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Key, b.Key)) })
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
// [Ledger.Revoke] has revoked them. A key that is quarantined already stays as it is. Errors of the disk
// or the file are those of [Ledger.Accept].
func (l *Ledger) Quarantine(q run.QuarantinedKey) error {
	switch {
	case q.Key == "" || q.Key == run.Referee || q.Key == run.Checker || len(q.Key) > maxKeyBytes:
		return fmt.Errorf("the key %.80q can't be quarantined: it is not that of a worker", q.Key)
	case len(q.Reason) > maxReasonBytes:
		return fmt.Errorf("the reason of a quarantine has %d bytes, more than %d", len(q.Reason), maxReasonBytes)
	case l.IsQuarantined(q.Key):
		return l.failed.get()
	}
	q.At = canonicalTime(q.At)
	record := quarantine{QuarantinedKey: q, Revoking: true}
	err := l.update(func(tx *bbolt.Tx) error { return putJSON(tx, quarantineBucket, []byte(q.Key), record) })
	if err == nil {
		l.setQuarantine(record)
	}
	return err
}

// Lift ends the quarantine of a key: later results of the key count again. Revoked results stay
// revoked. It is an error if the key is not quarantined, or some of its results are still to be revoked.
func (l *Ledger) Lift(key string) error {
	switch q, ok := l.quarantines[key]; {
	case !ok:
		return fmt.Errorf("the key %.80q %w", key, ErrNotQuarantined)
	case q.Revoking:
		return fmt.Errorf("the results of the key %.80q are being revoked: try again", key)
	}
	err := l.update(func(tx *bbolt.Tx) error { return tx.Bucket(quarantineBucket).Delete([]byte(key)) })
	if err == nil {
		delete(l.quarantines, key)
	}
	return err
}

// setQuarantine notes what the file says of a key, or will say with the next results that are revoked.
func (l *Ledger) setQuarantine(q quarantine) {
	delete(l.revoking, q.Key)
	if q.Revoking {
		l.revoking[q.Key] = struct{}{}
	} else {
		delete(l.voters, q.Key) // none of its results counts any more
	}
	l.quarantines[q.Key] = q
}

// maxRevoked bounds the tasks that a call of Revoke reads.
const maxRevoked = 1 << 12

// IsRevoking reports whether results of a quarantined key still count: [Ledger.Revoke] revokes them. If
// the process ends before, the next coordinator of the run goes on with that.
func (l *Ledger) IsRevoking() bool { return len(l.revoking) > 0 }

// Revoke revokes some of the results of a quarantined key, in at most one transaction that takes
// milliseconds, and returns their tasks and whether there may be more. Of a task that others
// support, one of them becomes the accepted result; other tasks have none any more. What the key has signed stays in
// the file, and so do its results of tasks in dispute, as evidence.
// Errors of the disk or the file are those of [Ledger.Accept].
func (l *Ledger) Revoke() (tasks []uint64, more bool, err error) {
	if !l.IsRevoking() {
		return nil, false, l.failed.get()
	}
	q := l.quarantines[slices.Min(slices.Collect(maps.Keys(l.revoking)))]
	if tasks, err = l.nextOf(&q); err != nil {
		return nil, false, err
	}
	if len(tasks) > 0 || !q.Revoking { // else a killed process has read for nothing, and so does the next one
		err = l.change(func(c *change) error {
			for _, task := range tasks {
				if err := c.revoke(q.Key, task); err != nil {
					return err
				}
			}
			return putJSON(c.tx, quarantineBucket, []byte(q.Key), q)
		})
	}
	if err != nil {
		return nil, false, err
	}
	l.setQuarantine(q)
	return tasks, l.IsRevoking(), nil
}

// nextOf returns the next tasks that have results of a quarantined key that count, and notes how far it has read.
func (l *Ledger) nextOf(q *quarantine) (tasks []uint64, err error) {
	err = l.view(func(tx *bbolt.Tx) error {
		cursor := l.seek(tx, q.Next)
		for range maxRevoked {
			task, all, err := cursor.next(noTask)
			if err != nil {
				return err
			}
			if task == noTask {
				q.Revoking = false
				return nil
			}
			if slices.ContainsFunc(all, func(r stored) bool { return r.Key == q.Key && !r.revoked }) {
				tasks = append(tasks, task)
			}
			q.Next = task + 1
		}
		return nil
	})
	return tasks, err
}

// revoke revokes the results of a key of a task.
func (c *change) revoke(key string, task uint64) error {
	before, err := c.ledger.resultsOf(c.tx, task)
	if err != nil {
		return err
	}
	now := slices.Clone(before)
	if isDisputed(now) {
		for i := range now {
			now[i].revoked = now[i].revoked || now[i].Key == key
		}
	} else {
		now = slices.DeleteFunc(now, func(r stored) bool { return r.Key == key })
	}
	_, err = c.set(task, before, now)
	return err
}

func (l *Ledger) loadQuarantines(tx *bbolt.Tx) error {
	l.quarantines, l.revoking = make(map[string]quarantine), make(map[string]struct{})
	return tx.Bucket(quarantineBucket).ForEach(func(key, record []byte) error {
		value, err := verifyChecksum(quarantineBucket, key, record)
		var q quarantine
		if err == nil {
			err = json.Unmarshal(value, &q)
		}
		q.Reason, q.Worker = queens.Sanitize(q.Reason), queens.SanitizeName(q.Worker) // a ledger may come from somebody else
		if err == nil && (q.Key != string(key) || queens.Sanitize(q.Key) != q.Key) {
			err = fmt.Errorf("it is of key %.80q", q.Key)
		}
		if err != nil {
			return fmt.Errorf("the quarantine of %.80q: %w", key, err)
		}
		l.setQuarantine(q)
		return nil
	})
}
