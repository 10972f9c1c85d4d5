package ledger

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
)

// maxVoided bounds the accepted results, or votes, that a call of Void looks at, about.
const maxVoided = 1 << 12

// Voided is a task of which results were voided.
type Voided struct {
	Task   uint64
	Before queens.Result  // The accepted result before.
	After  *queens.Result // The accepted result now; nil if the task has none any more.
}

// IsVoiding reports whether results of a quarantined key still count: [Ledger.Void] voids them. If
// the process ends before, the next [Open] voids the rest; a ledger that is open for reading only
// stays as it is.
func (l *Ledger) IsVoiding() bool { return len(l.voiding) > 0 }

// Void voids some of the results of a quarantined key, in at most one transaction that takes
// milliseconds, and returns their tasks and whether there may be more. Of a task that others
// support, one of them becomes the accepted result; other tasks have none any more. Votes of the
// key do not count any more. What the key has signed stays in the file, and the votes, as evidence.
// Errors of the disk or the file are those of [Ledger.Accept].
func (l *Ledger) Void() (changed []Voided, more bool, err error) {
	if !l.IsVoiding() {
		return nil, false, l.failed.get()
	}
	q := l.quarantines[slices.Min(slices.Collect(maps.Keys(l.voiding)))]
	if end := l.header.Manifest.Tasks; q.Next < end {
		changed, err = l.voidResults(&q, end)
	} else {
		changed, err = l.voidVotes(&q)
	}
	if err != nil {
		return nil, false, err
	}
	l.setQuarantine(q)
	return changed, l.IsVoiding(), nil
}

// finishQuarantines voids what a killed process has left.
func (l *Ledger) finishQuarantines() error {
	for l.IsVoiding() && l.mode == readWrite {
		changed, _, err := l.Void()
		if err != nil {
			return err
		}
		for i := range changed {
			if v := &changed[i]; v.After != nil && *v.After != v.Before {
				l.early.add(v.After)
			}
		}
	}
	return nil
}

// voidResults voids results of a quarantined key, of tasks from Next on and before end that are not
// in dispute, and moves Next.
func (l *Ledger) voidResults(q *quarantine, end uint64) ([]Voided, error) {
	next, tasks, err := l.resultsOf(q, end)
	if err != nil {
		return nil, err
	}
	q.Next = next
	if len(tasks) == 0 {
		return nil, nil // a killed process has looked in vain: so will the next one
	}
	return l.voidWith(q, func(t *acceptTx) error {
		for _, task := range tasks {
			if err := t.voidResult(q, task); err != nil {
				return err
			}
		}
		return nil
	})
}

// voidVotes voids votes of a quarantined key. If there are no more, the voiding is complete: no
// accepted result that could become a vote is left.
func (l *Ledger) voidVotes(q *quarantine) ([]Voided, error) {
	return l.voidWith(q, func(t *acceptTx) (err error) {
		q.Voiding, err = t.voidVotes(q)
		return err
	})
}

// voidWith voids in a transaction, which stores the record of the quarantine too.
func (l *Ledger) voidWith(q *quarantine, void func(t *acceptTx) error) ([]Voided, error) {
	t := newAcceptTx(l)
	err := l.update(func(tx *bbolt.Tx) error {
		t.begin(tx)
		if err := void(&t); err != nil {
			return err
		}
		lost := 0
		for i := range t.voided {
			if t.voided[i].After == nil {
				lost++
			}
		}
		if err := t.lose(lost); err != nil {
			return err
		}
		return putJSON(tx, quarantineBucket, []byte(q.Key), q)
	})
	if err != nil {
		return nil, err
	}
	t.commit()
	return t.voided, nil
}

// resultsOf looks at the next results, and the confirmations of the same tasks. It returns the tasks
// with one of a quarantined key, in order, and the task after the last one that it looked at.
func (l *Ledger) resultsOf(q *quarantine, end uint64) (next uint64, tasks []uint64, err error) {
	next = end
	err = l.view(func(tx *bbolt.Tx) error {
		cursor, read := tx.Bucket(resultsBucket).Cursor(), 0
		for key, record := cursor.Seek(key64(q.Next)); key != nil; key, record = cursor.Next() {
			if read++; read > maxVoided {
				next = binary.BigEndian.Uint64(key)
				break
			}
			switch r, err := l.decodeResult(key, record); {
			case err != nil:
				return err
			case q.covers(&r):
				tasks = append(tasks, r.Task)
			}
		}
		return forEachTask(tx, confirmationsBucket, q.Next, next, func(key, record []byte) error {
			r, err := l.decodeConfirmation(key, record)
			if err == nil && q.covers(&r) {
				tasks = append(tasks, r.Task)
			}
			return err
		})
	})
	slices.Sort(tasks)
	return next, slices.Compact(tasks), err
}

// voidResult voids the results of a quarantined key of a task, unless the task is in dispute.
func (t *acceptTx) voidResult(q *quarantine, task uint64) error {
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
	if !q.covers(&accepted) {
		remaining = append(remaining, accepted)
	}
	for i := range confirmations {
		c := &confirmations[i]
		void := q.covers(&c.result)
		promoted := len(remaining) == 0 && !void
		if promoted {
			if err := t.putResult(&c.result, &accepted); err != nil {
				return err
			}
		}
		if !void {
			remaining = append(remaining, c.result)
		}
		if promoted || void {
			if err := t.tx.Bucket(confirmationsBucket).Delete(c.key); err != nil {
				return err
			}
		}
	}
	t.setSupport(task, supportOf(remaining))
	if len(remaining) == 0 {
		t.voided = append(t.voided, Voided{task, accepted, nil})
		return t.deleteResult(&accepted)
	}
	t.voided = append(t.voided, Voided{task, accepted, &remaining[0]})
	return nil
}

// voidVotes voids votes of a quarantined key, and reports whether there may be more. It marks them in
// the file.
func (t *acceptTx) voidVotes(q *quarantine) (more bool, err error) {
	t.copyDisputes()
	voided := 0
	for i := range t.disputes {
		if voided >= maxVoided {
			return true, nil
		}
		n, err := t.voidVotesOf(&t.disputes[i], q)
		if err != nil {
			return false, err
		}
		voided += n
	}
	return false, nil
}

// voidVotesOf voids the votes of a quarantined key in a dispute, and returns their number.
func (t *acceptTx) voidVotesOf(d *Dispute, q *quarantine) (int, error) {
	v := Voided{Task: d.Task}
	before := d.acceptedVote()
	if before != nil {
		v.Before = *before
	}
	numbers := d.void(q.covers)
	if len(numbers) == 0 {
		return 0, nil
	}
	for _, number := range numbers {
		if err := t.markVoided(key64(number)); err != nil {
			return 0, err
		}
	}
	var err error
	v.After = d.acceptedVote()
	switch {
	case v.After == nil && before != nil:
		err = t.deleteResult(before)
	case v.After != nil && (before == nil || *v.After != *before):
		err = t.putResult(v.After, before)
	}
	t.setSupport(d.Task, d.support())
	t.voided = append(t.voided, v)
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
