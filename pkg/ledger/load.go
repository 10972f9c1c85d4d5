package ledger

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
)

// load reads and checks everything in the file and keeps what is held in memory. A
// writer removes damaged records of results, and OpenTolerant skips them; to a reader
// they are an error, as other damage is to all.
func (l *Ledger) load() error {
	var bad []uint64
	err := l.view(func(tx *bbolt.Tx) (err error) {
		if err := l.loadHeader(tx); err != nil {
			return err
		}
		for _, name := range buckets {
			if tx.Bucket(name) == nil {
				return l.damaged(fmt.Errorf("it has no bucket %s", name))
			}
		}
		for _, load := range []func(*bbolt.Tx) error{l.loadProgress, l.loadNames, l.loadVotes} {
			if err := load(tx); err != nil {
				return l.damaged(err)
			}
		}
		if _, err := l.readRejections(tx); err != nil {
			return err
		}
		bad, err = l.loadResults(tx)
		return err
	})
	if err != nil {
		return err
	}
	if l.mode == tolerant {
		l.damagedTasks = bad
		return nil
	}
	return l.repair(bad)
}

func (l *Ledger) loadHeader(tx *bbolt.Tx) error {
	if tx.Bucket(headerBucket) == nil {
		return l.damaged(errors.New("it is not a ledger"))
	}
	var version int
	if err := getJSON(tx, headerBucket, formatKey, &version); err != nil {
		return l.damaged(err)
	}
	if version != Version {
		return fmt.Errorf("the ledger %s has format %d, and this program reads format %d: use the program that created it", l.path, version, Version)
	}
	err := getJSON(tx, headerBucket, headerKey, &l.header)
	if err == nil {
		err = validateHeader(&l.header)
	}
	if err != nil {
		return l.damaged(err)
	}
	l.addRunToLockInfo()
	return nil
}

func (l *Ledger) loadProgress(tx *bbolt.Tx) error {
	return cmp.Or(
		getJSON(tx, progressBucket, positionKey, &l.position),
		getJSON(tx, progressBucket, rejectedKey, &l.rejected),
		getJSON(tx, progressBucket, stateKey, &l.state),
	)
}

func (l *Ledger) loadNames(tx *bbolt.Tx) error {
	l.strings = stringTable{ids: make(map[string]uint64)}
	return forEachNumbered(tx, namesBucket, func(value []byte) error {
		if _, known := l.strings.intern(string(value)); known {
			return fmt.Errorf("it has the name %q twice", value)
		}
		return nil
	})
}

func (l *Ledger) loadVotes(tx *bbolt.Tx) error {
	l.disputed = make(map[uint64]int)
	err := forEachNumbered(tx, votesBucket, func(value []byte) error {
		if len(value) < 8 {
			return errors.New("too short")
		}
		r, err := parseResult(value[8:], &l.strings)
		if err != nil {
			return err
		}
		r.Run, r.Task = l.header.Run, binary.BigEndian.Uint64(value)
		if r.Task >= l.header.Manifest.Tasks {
			return fmt.Errorf("it is of task %d, of %d", r.Task, l.header.Manifest.Tasks)
		}
		i, known := l.disputed[r.Task]
		if !known {
			i = len(l.disputes)
			l.disputed[r.Task] = i
			l.disputes = append(l.disputes, Dispute{Task: r.Task})
		}
		l.disputes[i].Votes = append(l.disputes[i].Votes, r)
		l.voteCount++
		return nil
	})
	for i := range l.disputes {
		_, l.disputes[i].Settled = tally(l.disputes[i].Votes)
	}
	return err
}

// readRejections returns the stored rejections.
func (l *Ledger) readRejections(tx *bbolt.Tx) ([]Rejection, error) {
	var all []Rejection
	err := forEachNumbered(tx, rejectionsBucket, func(value []byte) error {
		all = append(all, Rejection{})
		return json.Unmarshal(value, &all[len(all)-1])
	})
	if want := min(l.rejected, maxRejections); err == nil && uint64(len(all)) != want {
		err = fmt.Errorf("it has %d rejected results, and should have %d", len(all), want)
	}
	if err != nil {
		return nil, l.damaged(err)
	}
	return all, nil
}

// forEachNumbered calls f with each value of a bucket with the keys 0, 1, ...
func forEachNumbered(tx *bbolt.Tx, bucket []byte, f func(value []byte) error) error {
	next := uint64(0)
	return tx.Bucket(bucket).ForEach(func(key, record []byte) error {
		if !bytes.Equal(key, key64(next)) {
			return fmt.Errorf("%s: number %d is missing", bucket, next)
		}
		value, err := verifyChecksum(bucket, key, record)
		if err == nil {
			err = f(value)
		}
		if err != nil {
			return fmt.Errorf("%s: number %d: %w", bucket, next, err)
		}
		next++
		return nil
	})
}

// loadResults reads the results, and returns the tasks of damaged ones.
func (l *Ledger) loadResults(tx *bbolt.Tx) (bad []uint64, err error) {
	l.accepted = newBitmap(l.header.Manifest.Tasks)
	err = tx.Bucket(resultsBucket).ForEach(func(key, record []byte) error {
		r, err := l.decodeResult(key, record)
		if err != nil {
			if l.mode == readOnly || len(key) != 8 {
				return err
			}
			bad = append(bad, r.Task)
			return nil
		}
		if i, ok := l.disputed[r.Task]; ok {
			if votes := l.disputes[i].Votes; votes[winner(votes)] != r {
				return l.damaged(fmt.Errorf("the result of task %d is not the one that its votes chose", r.Task))
			}
		}
		l.accepted.set(r.Task)
		return nil
	})
	return bad, err
}

// decodeResult returns the result of a record; with an error, only its task.
func (l *Ledger) decodeResult(key, record []byte) (queens.Result, error) {
	if len(key) != 8 {
		return queens.Result{}, l.damaged(fmt.Errorf("a result has the key %x", key))
	}
	task := binary.BigEndian.Uint64(key)
	value, err := verifyChecksum(resultsBucket, key, record)
	var r queens.Result
	if err == nil {
		r, err = parseResult(value, &l.strings)
	}
	if err == nil && task >= l.header.Manifest.Tasks {
		err = fmt.Errorf("the run has %d tasks", l.header.Manifest.Tasks)
	}
	if err != nil {
		return queens.Result{Task: task}, l.damaged(fmt.Errorf("the result of task %d: %w", task, err))
	}
	r.Run, r.Task = l.header.Run, task
	return r, nil
}

// repair removes the results of bad tasks, and restores missing results of disputed
// tasks, which are among the votes too.
func (l *Ledger) repair(bad []uint64) error {
	var missing []queens.Result
	for _, d := range l.disputes {
		if !l.accepted.has(d.Task) {
			missing = append(missing, d.Votes[winner(d.Votes)])
		}
	}
	switch {
	case len(bad) == 0 && len(missing) == 0:
		return nil
	case l.mode == readOnly:
		return l.damaged(fmt.Errorf("task %d has votes and no result", missing[0].Task))
	}
	err := l.update(func(tx *bbolt.Tx) error {
		t := acceptTx{ledger: l}
		t.begin(tx)
		for _, task := range bad {
			if err := t.results.Delete(key64(task)); err != nil {
				return err
			}
		}
		for _, r := range missing {
			if err := t.putResult(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range missing {
		l.accepted.set(r.Task)
	}
	l.damagedTasks = slices.DeleteFunc(bad, l.Has)
	return nil
}
