package ledger

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
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
}

// quarantine is a record of the file.
type quarantine struct {
	Quarantined
	// Voiding says that results of the key still count, of tasks from Next on and in disputes.
	Voiding bool   `json:"voiding,omitempty"`
	Next    uint64 `json:"next,omitempty"`
}

const (
	// maxVoided bounds the results that one transaction voids, about.
	maxVoided = 1 << 12
	// maxKeyBytes and maxReasonBytes bound what a quarantine says, in bytes.
	maxKeyBytes, maxReasonBytes = 128, 1024
)

// Quarantined returns the quarantined keys, in the order in which they were quarantined.
func (l *Ledger) Quarantined() []Quarantined {
	var all []Quarantined
	for _, q := range l.quarantines {
		all = append(all, q.Quarantined)
	}
	slices.SortFunc(all, func(a, b Quarantined) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Key, b.Key)) })
	return all
}

// IsQuarantined reports whether a key is quarantined.
func (l *Ledger) IsQuarantined(key string) bool {
	_, ok := l.quarantines[key]
	return ok
}

// IsVoiding reports whether results of a quarantined key still count: a process was killed while it
// voided them. [Open] voids the rest; a ledger that is open for reading only stays as it is.
func (l *Ledger) IsVoiding() bool {
	for _, q := range l.quarantines {
		if q.Voiding {
			return true
		}
	}
	return false
}

// Quarantine stores that nothing is accepted from a key any more, and voids what was: of a task
// that others support, one of them becomes the accepted result; the other tasks have no accepted
// result any more, and are returned in order. The votes of the key do not count any more. The
// signed chunk results of the key stay in the file, and the votes, as evidence. A key that is
// quarantined already stays as it is.
//
// The work is that of reading the whole ledger. It is divided into transactions. If the process
// is killed meanwhile, the next [Open] does the rest. Errors of the disk or the file are those
// of [Ledger.Accept].
func (l *Ledger) Quarantine(q Quarantined) (recount []uint64, err error) {
	switch {
	case q.Key == "" || q.Key == queens.Referee || q.Key == queens.Checker || len(q.Key) > maxKeyBytes:
		return nil, fmt.Errorf("the key %.80q can't be quarantined: it is not that of a worker", q.Key)
	case len(q.Reason) > maxReasonBytes:
		return nil, fmt.Errorf("the reason of a quarantine has %d bytes, more than %d", len(q.Reason), maxReasonBytes)
	case l.IsQuarantined(q.Key):
		return nil, l.failed.get()
	}
	q.At = canonicalTime(q.At)
	record := quarantine{Quarantined: q, Voiding: true}
	if err := l.update(func(tx *bbolt.Tx) error { return putJSON(tx, quarantineBucket, []byte(q.Key), record) }); err != nil {
		return nil, err
	}
	l.quarantines[q.Key] = record
	return l.void(record)
}

// Lift ends the quarantine of a key: later results of the key count again. What was voided stays
// void. A key that is not quarantined is an error.
func (l *Ledger) Lift(key string) error {
	if !l.IsQuarantined(key) {
		return fmt.Errorf("the key %.80q is not quarantined", key)
	}
	err := l.update(func(tx *bbolt.Tx) error { return tx.Bucket(quarantineBucket).Delete([]byte(key)) })
	if err == nil {
		delete(l.quarantines, key)
	}
	return err
}

func (l *Ledger) loadQuarantines(tx *bbolt.Tx) error {
	l.quarantines = make(map[string]quarantine)
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
		l.quarantines[q.Key] = q
		return nil
	})
}

// finishQuarantines voids what a killed process has left.
func (l *Ledger) finishQuarantines() error {
	for _, key := range slices.Sorted(maps.Keys(l.quarantines)) {
		if q := l.quarantines[key]; q.Voiding && l.mode == readWrite {
			if _, err := l.void(q); err != nil {
				return err
			}
		}
	}
	return nil
}

// void voids the results of a key, in transactions, and returns the tasks without an accepted
// result.
func (l *Ledger) void(q quarantine) (recount []uint64, err error) {
	for q.Voiding {
		t := newAcceptTx(l)
		next := q
		err := l.update(func(tx *bbolt.Tx) error {
			t.begin(tx)
			var err error
			if next.Next, next.Voiding, err = t.voidResults(q.Key, q.Next); err != nil {
				return err
			}
			if !next.Voiding {
				next.Next = l.header.Manifest.Tasks
				if next.Voiding, err = t.voidVotes(q.Key); err != nil {
					return err
				}
			}
			return putJSON(tx, quarantineBucket, []byte(q.Key), next)
		})
		if err != nil {
			return nil, err
		}
		t.commit()
		for _, s := range t.supported {
			if s.support == 0 {
				recount = append(recount, s.task)
			}
		}
		q = next
		l.quarantines[q.Key] = q
	}
	slices.Sort(recount)
	return recount, nil
}

// voidResults voids results of a key, of tasks from first on that are not in dispute. It returns
// the task after the last one that it looked at, and whether there are more.
func (t *acceptTx) voidResults(key string, first uint64) (next uint64, more bool, err error) {
	var tasks []uint64
	next, tasks, more, err = t.tasksOf(resultsBucket, key, first)
	if err != nil {
		return 0, false, err
	}
	// Confirmations of the key are only of tasks with results; look at no more than those.
	end, confirmed, limited, err := t.tasksOf(confirmationsBucket, key, first)
	if err != nil {
		return 0, false, err
	}
	if limited && (!more || end < next) {
		next, more = end, true
	}
	all := slices.Concat(tasks, confirmed)
	slices.Sort(all)
	for _, task := range slices.Compact(all) {
		if more && task >= next {
			break
		}
		if err := t.voidResult(key, task); err != nil {
			return 0, false, err
		}
	}
	return next, more, nil
}

// tasksOf returns tasks from first on with a record of a key in a bucket, in order: all of them,
// or the first maxVoided; then next is the task after the last of them.
func (t *acceptTx) tasksOf(bucket []byte, key string, first uint64) (next uint64, tasks []uint64, more bool, err error) {
	id, known := t.ledger.strings.ids[key]
	if !known {
		return 0, nil, false, nil
	}
	cursor := t.tx.Bucket(bucket).Cursor()
	for k, record := cursor.Seek(key64(first)); k != nil; k, record = cursor.Next() {
		task := binary.BigEndian.Uint64(k)
		if len(tasks) >= maxVoided {
			return task, tasks, true, nil
		}
		value, err := verifyChecksum(bucket, k, record)
		var ids nameIDs
		if err == nil {
			_, ids, err = parseNumbers(value)
		}
		switch {
		case err != nil:
			return 0, nil, false, t.ledger.damaged(fmt.Errorf("%s: task %d: %w", bucket, task, err))
		case ids.hasKey && ids.key == id && (len(tasks) == 0 || tasks[len(tasks)-1] != task):
			tasks = append(tasks, task)
		}
	}
	return 0, tasks, false, nil
}

// voidResult voids the results of a key of a task, unless the task is in dispute.
func (t *acceptTx) voidResult(key string, task uint64) error {
	if _, disputed := t.ledger.disputed[task]; disputed {
		return nil
	}
	accepted, err := t.ledger.decodeResult(key64(task), t.results.Get(key64(task)))
	if err != nil {
		return err
	}
	confirmations, err := t.ledger.confirmationsOf(t.tx, task)
	if err != nil {
		return err
	}
	var remaining []queens.Result
	if accepted.Key != key {
		remaining = append(remaining, accepted)
	}
	for i := range confirmations {
		c := &confirmations[i]
		promoted := len(remaining) == 0 && c.result.Key != key
		if promoted {
			if err := t.putResult(c.result); err != nil {
				return err
			}
		}
		if c.result.Key != key {
			remaining = append(remaining, c.result)
		}
		if promoted || c.result.Key == key {
			if err := t.tx.Bucket(confirmationsBucket).Delete(c.key); err != nil {
				return err
			}
		}
	}
	t.setSupport(task, supportOf(remaining))
	if len(remaining) == 0 {
		return t.results.Delete(key64(task))
	}
	return nil
}

// voidVotes voids votes of a key, and reports whether there may be more. It marks them in the file.
func (t *acceptTx) voidVotes(key string) (more bool, err error) {
	t.copyDisputes()
	voided := 0
	for i := range t.disputes {
		if voided >= maxVoided {
			return true, nil
		}
		n, err := t.voidVotesOf(&t.disputes[i], key)
		if err != nil {
			return false, err
		}
		voided += n
	}
	return false, nil
}

// voidVotesOf voids the votes of a key in a dispute, and returns their number.
func (t *acceptTx) voidVotesOf(d *Dispute, key string) (int, error) {
	before := d.accepted
	var accepted queens.Result
	if before >= 0 {
		accepted = d.Votes[before]
	}
	numbers := d.void(key)
	if len(numbers) == 0 {
		return 0, nil
	}
	for _, number := range numbers {
		if err := t.markVoided(key64(number)); err != nil {
			return 0, err
		}
	}
	var err error
	switch {
	case d.accepted < 0:
		err = t.results.Delete(key64(d.Task))
	case d.Votes[d.accepted] != accepted:
		err = t.putResult(d.Votes[d.accepted])
	}
	t.setSupport(d.Task, d.support())
	return len(numbers), err
}

// markVoided marks a vote in the file.
func (t *acceptTx) markVoided(key []byte) error {
	value, err := verifyChecksum(votesBucket, key, t.tx.Bucket(votesBucket).Get(key))
	if err != nil {
		return t.ledger.damaged(fmt.Errorf("vote %x: %w", key, err))
	}
	value = bytes.Clone(value)
	value[8] = voteVoided
	return put(t.tx, votesBucket, key, value)
}
