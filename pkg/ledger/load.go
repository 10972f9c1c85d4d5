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
	"nqueens/pkg/run"
)

// load reads all that the file holds, checks it, and keeps what is held in memory. A
// writer takes out the records of results that are damaged, and a look passes over
// them; any other damage, and that too for a reader, is an error.
func (l *Ledger) load() error {
	var bad []uint64
	err := l.view(func(tx *bbolt.Tx) error {
		if err := l.loadHeader(tx); err != nil {
			return err
		}
		for _, bucket := range [][]byte{progressBucket, namesBucket, resultsBucket, votesBucket, evidenceBucket} {
			if tx.Bucket(bucket) == nil {
				return l.damaged(fmt.Errorf("it has no bucket %s", bucket))
			}
		}
		if err := cmp.Or(l.loadProgress(tx), l.loadNames(tx)); err != nil {
			return l.damaged(err)
		}
		if err := l.loadVotes(tx); err != nil {
			return l.damaged(err)
		}
		if _, err := l.readRejections(tx); err != nil {
			return err
		}
		var err error
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
	bucket := tx.Bucket(headerBucket)
	if bucket == nil {
		return l.damaged(errors.New("it is no ledger"))
	}
	var version int
	if err := getJSON(bucket, headerBucket, formatKey, &version); err != nil {
		return l.damaged(err)
	}
	if version != Version {
		return fmt.Errorf("the ledger %s is of format %d, and this program reads format %d: use the program that made it", l.path, version, Version)
	}
	var kept headerJSON
	if err := getJSON(bucket, headerBucket, headerKey, &kept); err != nil {
		return l.damaged(err)
	}
	l.header = Header(kept)
	if err := validateHeader(&l.header); err != nil {
		return l.damaged(err)
	}
	if l.mode == readWrite {
		l.addRunToLockInfo()
	}
	return nil
}

func (l *Ledger) loadProgress(tx *bbolt.Tx) error {
	bucket := tx.Bucket(progressBucket)
	var position positionJSON
	err := cmp.Or(
		getJSON(bucket, progressBucket, positionKey, &position),
		getJSON(bucket, progressBucket, refusedKey, &l.rejected),
		getJSON(bucket, progressBucket, stateKey, &l.state),
	)
	l.position = run.StreamPosition(position)
	return err
}

func (l *Ledger) loadNames(tx *bbolt.Tx) error {
	l.strings = stringTable{ids: make(map[string]uint64)}
	return eachNumbered(tx, namesBucket, func(value []byte) error {
		if _, known := l.strings.intern(string(value)); known {
			return fmt.Errorf("name %q stands in it twice", value)
		}
		return nil
	})
}

func (l *Ledger) loadVotes(tx *bbolt.Tx) error {
	l.disputed = make(map[uint64]int)
	err := eachNumbered(tx, votesBucket, func(value []byte) error {
		if len(value) < 8 {
			return errors.New("it is too short")
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

// readRejections returns the refused results that are kept.
func (l *Ledger) readRejections(tx *bbolt.Tx) ([]Rejection, error) {
	var kept []Rejection
	err := eachNumbered(tx, evidenceBucket, func(value []byte) error {
		var r rejectionJSON
		if err := json.Unmarshal(value, &r); err != nil {
			return err
		}
		kept = append(kept, Rejection(r))
		return nil
	})
	if want := min(l.rejected, maxEvidence); err == nil && uint64(len(kept)) != want {
		err = fmt.Errorf("it has %d refused results, and should have %d", len(kept), want)
	}
	if err != nil {
		return nil, l.damaged(err)
	}
	return kept, nil
}

// eachNumbered calls f with each value of a bucket whose keys are 0, 1, ...
func eachNumbered(tx *bbolt.Tx, bucket []byte, f func(value []byte) error) error {
	next := uint64(0)
	return tx.Bucket(bucket).ForEach(func(key, sealed []byte) error {
		if !bytes.Equal(key, key64(next)) {
			return fmt.Errorf("%s: number %d is lacking", bucket, next)
		}
		value, err := verifyChecksum(bucket, key, sealed)
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

// loadResults goes through the results, and returns the tasks of those that are
// damagedTasks.
func (l *Ledger) loadResults(tx *bbolt.Tx) (bad []uint64, err error) {
	l.accepted = newBitmap(l.header.Manifest.Tasks)
	err = tx.Bucket(resultsBucket).ForEach(func(key, sealed []byte) error {
		if len(key) != 8 {
			return l.damaged(fmt.Errorf("a result has the key %x", key))
		}
		r, err := l.decodeResult(key, sealed)
		if err != nil {
			bad = append(bad, r.Task)
			if l.mode == readOnly {
				return err
			}
			return nil
		}
		if i, ok := l.disputed[r.Task]; ok {
			if stands, _ := tally(l.disputes[i].Votes); l.disputes[i].Votes[stands] != r {
				return l.damaged(fmt.Errorf("the result of task %d is not the one that its votes chose", r.Task))
			}
		}
		l.accepted.set(r.Task)
		return nil
	})
	return bad, err
}

// decodeResult returns the result under a key of 8 bytes, with its task even where it is
// damagedTasks.
func (l *Ledger) decodeResult(key, sealed []byte) (queens.Result, error) {
	task := binary.BigEndian.Uint64(key)
	value, err := verifyChecksum(resultsBucket, key, sealed)
	var r queens.Result
	if err == nil {
		r, err = parseResult(value, &l.strings)
	}
	if err == nil && task >= l.header.Manifest.Tasks {
		err = fmt.Errorf("the run has %d tasks", l.header.Manifest.Tasks)
	}
	r.Run, r.Task = l.header.Run, task
	if err != nil {
		return queens.Result{Task: task}, l.damaged(fmt.Errorf("the result of task %d: %w", task, err))
	}
	return r, nil
}

// repair takes out the results of the tasks named. Those in dispute are put back: they
// stand among the votes as well.
func (l *Ledger) repair(bad []uint64) error {
	var lacking []queens.Result
	for _, d := range l.disputes {
		if !l.accepted.has(d.Task) {
			stands, _ := tally(d.Votes)
			lacking = append(lacking, d.Votes[stands])
		}
	}
	switch {
	case len(bad) == 0 && len(lacking) == 0:
		return nil
	case l.mode == readOnly:
		return l.damaged(fmt.Errorf("task %d has votes and no result", lacking[0].Task))
	}
	err := l.update(func(tx *bbolt.Tx) error {
		e := acceptTx{ledger: l}
		e.begin(tx)
		for _, task := range bad {
			if err := e.results.Delete(key64(task)); err != nil {
				return err
			}
		}
		for _, r := range lacking {
			if err := e.putResult(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range lacking {
		l.accepted.set(r.Task)
	}
	l.damagedTasks = slices.DeleteFunc(bad, l.Has)
	return nil
}
