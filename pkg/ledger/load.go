package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"go.etcd.io/bbolt"

	"nqueens/pkg/parallel"
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
		return nil
	})
	if err == nil {
		bad, err = l.loadResults()
	}
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
		l.loadServer(tx),
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

// loadedTasks is how many tasks a core loads at a time. It is a multiple of 64: no two cores
// write a word of the bitmap.
const loadedTasks = 1 << 13

// loadResults reads the results on all cores, and returns the tasks of damaged ones.
func (l *Ledger) loadResults() (bad []uint64, err error) {
	type loaded struct {
		bad   []uint64
		count uint64
	}
	tasks := l.header.Manifest.Tasks
	l.accepted = newBitmap(tasks)
	ranges := func(yield func(uint64) bool) {
		for first := uint64(0); first == 0 || first < tasks; first += loadedTasks {
			if !yield(first) {
				return
			}
		}
	}
	err = parallel.InOrder(context.Background(), ranges, func(_ context.Context, first uint64) (some loaded, err error) {
		end := first + loadedTasks
		if end >= tasks {
			end = math.MaxUint64 // with what is beyond the tasks
		}
		some.bad, some.count, err = l.loadRange(first, end)
		return some, err
	}, func(some loaded) error {
		bad = append(bad, some.bad...)
		l.accepted.count += some.count
		return nil
	})
	return bad, err
}

// loadRange reads the results of the tasks from first on and before end. It returns those that
// are damaged, and the number of the others.
func (l *Ledger) loadRange(first, end uint64) (bad []uint64, count uint64, err error) {
	last := key64(end)
	err = l.view(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(resultsBucket).Cursor()
		key, record := cursor.First()
		if first > 0 {
			key, record = cursor.Seek(key64(first))
		}
		for ; key != nil && (end == math.MaxUint64 || bytes.Compare(key, last) < 0); key, record = cursor.Next() {
			r, err := l.decodeResult(key, record)
			if err != nil {
				if l.mode == readOnly || len(key) != 8 {
					return err
				}
				bad = append(bad, r.Task)
				continue
			}
			if i, ok := l.disputed[r.Task]; ok {
				if votes := l.disputes[i].Votes; votes[winner(votes)] != r {
					return l.damaged(fmt.Errorf("the result of task %d is not the one that its votes chose", r.Task))
				}
			}
			l.accepted.words[r.Task/64] |= 1 << (r.Task % 64)
			count++
		}
		return nil
	})
	return bad, count, err
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
