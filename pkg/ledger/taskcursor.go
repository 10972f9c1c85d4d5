package ledger

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"go.etcd.io/bbolt"
)

// noTask is in place of a task where there is none.
const noTask = math.MaxUint64

// taskCursor goes through the results of the file, task by task.
type taskCursor struct {
	ledger      *Ledger
	cursor      *bbolt.Cursor
	key, record []byte // The next one.
	all         []stored
}

// seek returns a cursor at a task.
func (l *Ledger) seek(tx *bbolt.Tx, task uint64) *taskCursor {
	c := &taskCursor{ledger: l, cursor: tx.Bucket(resultsBucket).Cursor()}
	c.seek(task)
	return c
}

func (c *taskCursor) seek(task uint64) {
	if task == 0 {
		c.key, c.record = c.cursor.First() // A damaged key may be less than that of task 0.
	} else {
		c.key, c.record = c.cursor.Seek(key64(task))
	}
}

// next returns the next task before end, or noTask, and its results in order of arrival, which are valid until the next
// call. If something of the task is damaged, it returns the task with an error, and the cursor is at the next task.
// With an error and noTask, the file is damaged beyond that.
func (c *taskCursor) next(end uint64) (task uint64, all []stored, err error) {
	if c.key == nil {
		return noTask, nil, nil
	}
	if len(c.key) < 8 {
		return noTask, nil, c.ledger.damaged(fmt.Errorf("a result has the key %x", c.key))
	}
	prefix := c.key[:8]
	if task = binary.BigEndian.Uint64(prefix); task >= end && end != noTask {
		return noTask, nil, nil
	}
	for all = c.all[:0]; bytes.HasPrefix(c.key, prefix); c.key, c.record = c.cursor.Next() {
		r, failed := c.ledger.decodeResult(c.key, c.record, task, len(all))
		err = cmp.Or(err, failed)
		all = append(all, r)
	}
	c.all = all
	if err == nil && all[0].disputed != isDisputed(all) {
		err = errors.New("a result of its dispute is missing")
	}
	if err == nil && isRepeated(all) {
		err = errors.New("a voter has its count twice")
	}
	if err != nil {
		err = c.ledger.damaged(fmt.Errorf("the result of task %d: %w", task, err))
	}
	return task, all, err
}

// isRepeated reports whether two results of a task make one voter count twice. A ledger that this program writes has none,
// see [outcome.takes].
func isRepeated(all []stored) bool {
	for i := range all {
		for j := range i {
			if a, b := &all[i], &all[j]; a.Count == b.Count && !a.revoked && !b.revoked && a.Voter() == b.Voter() {
				return true
			}
		}
	}
	return false
}

// decodeResult returns a result of a task from its record, which is to be the one of that index.
func (l *Ledger) decodeResult(key, record []byte, task uint64, index int) (r stored, err error) {
	if len(key) != 8+2*min(index, 1) || index > 0 && int(binary.BigEndian.Uint16(key[8:])) != index {
		return r, fmt.Errorf("number %d is missing, and there is the key %x", index, key)
	}
	value, err := verifyChecksum(resultsBucket, key, record)
	if err == nil {
		r, err = parseResult(value, &l.strings)
	}
	if err == nil && task >= l.header.Manifest.Tasks {
		err = fmt.Errorf("the run has %d tasks", l.header.Manifest.Tasks)
	}
	r.Run, r.Task = l.header.Run, task
	return r, err
}

// resultsOf returns the results of a task in the file, in order of arrival.
func (l *Ledger) resultsOf(tx *bbolt.Tx, task uint64) ([]stored, error) {
	_, all, err := l.seek(tx, task).next(task + 1)
	return all, err
}
