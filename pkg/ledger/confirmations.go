package ledger

import (
	"bytes"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
)

// maxConfirmations bounds the confirmations of a task. Of a task in dispute there are none: they
// have become votes.
const maxConfirmations = 5

// confirmation is a stored result that agrees with the accepted one, of another voter.
type confirmation struct {
	key    []byte // The task, and a number from 0 to maxConfirmations-1.
	result queens.Result
}

// confirmationsOf returns the confirmations of a task in the file.
func (l *Ledger) confirmationsOf(tx *bbolt.Tx, task uint64) (all []confirmation, err error) {
	prefix := key64(task)
	cursor := tx.Bucket(confirmationsBucket).Cursor()
	for key, record := cursor.Seek(prefix); bytes.HasPrefix(key, prefix); key, record = cursor.Next() {
		r, err := l.decodeConfirmation(key, record)
		if err != nil {
			return nil, err
		}
		all = append(all, confirmation{bytes.Clone(key), r})
	}
	return all, nil
}

// decodeConfirmation returns the result of a record; with an error, only its task, if the key has
// one.
func (l *Ledger) decodeConfirmation(key, record []byte) (queens.Result, error) {
	if len(key) != 9 || key[8] >= maxConfirmations {
		return queens.Result{}, l.damaged(fmt.Errorf("a confirmation has the key %x", key))
	}
	return l.decode(confirmationsBucket, key, record)
}

// Supporters returns the accepted result of a task, and after it one result of each other voter
// that agrees with it, which the file has; nothing if the task has no accepted result. A damaged
// record is a [DamagedError].
func (l *Ledger) Supporters(task uint64) ([]queens.Result, error) {
	accepted, ok, err := l.Result(task)
	if !ok {
		return nil, err
	}
	all := []queens.Result{accepted}
	if d, disputed := l.Dispute(task); disputed {
		for _, v := range d.Votes {
			if v.Count == accepted.Count && v != accepted {
				all = append(all, v)
			}
		}
		return all, nil
	}
	err = l.view(func(tx *bbolt.Tx) error {
		confirmations, err := l.confirmationsOf(tx, task)
		for i := range confirmations {
			all = append(all, confirmations[i].result)
		}
		return err
	})
	return all, err
}

// confirm stores a result that agrees with the accepted one, unless its voter has counted the
// task already, or its key is not admitted, which adds nothing.
func (t *acceptTx) confirm(first queens.Result, confirmations []confirmation, r queens.Result) (Verdict, error) {
	agreeing := []queens.Result{first}
	for i := range confirmations {
		agreeing = append(agreeing, confirmations[i].result)
	}
	if len(confirmations) >= maxConfirmations || !r.Admitted && !r.IsOwn() || slices.ContainsFunc(agreeing, func(a queens.Result) bool { return a.Voter() == r.Voter() }) {
		return Duplicate, nil
	}
	key := append(key64(r.Task), 0)
	for slices.ContainsFunc(confirmations, func(c confirmation) bool { return bytes.Equal(c.key, key) }) {
		key[8]++
	}
	if err := t.sign(&r); err != nil {
		return 0, err
	}
	t.setSupport(r.Task, supportOf(append(agreeing, r)))
	return Confirmed, t.put(confirmationsBucket, key, nil, &r)
}
