package ledger

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// load reads and checks everything in the file and keeps what is held in memory. A
// writer removes damaged records of results, and OpenTolerant skips them; to a reader
// they are an error, as other damage is to all.
func (l *Ledger) load() error {
	var found loaded
	err := l.view(func(tx *bbolt.Tx) (err error) {
		if err := l.loadHeader(tx); err != nil {
			return err
		}
		for _, name := range buckets {
			if tx.Bucket(name) == nil {
				return l.damaged(fmt.Errorf("it has no bucket %s", name))
			}
		}
		for _, load := range []func(*bbolt.Tx) error{l.loadProgress, l.loadNames, l.loadReports, l.loadVotes, l.loadQuarantines} {
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
		found, err = l.loadResults()
	}
	if err != nil {
		return err
	}
	if l.mode == tolerant {
		l.damagedTasks = found.bad
		return nil
	}
	if err := l.repair(found); err != nil {
		return err
	}
	return l.finishQuarantines()
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
	return nil
}

func (l *Ledger) loadProgress(tx *bbolt.Tx) error {
	return cmp.Or(
		getJSON(tx, progressBucket, positionKey, &l.position),
		getJSON(tx, progressBucket, rejectedKey, &l.rejected),
		getJSON(tx, progressBucket, stateKey, &l.state),
		getJSON(tx, progressBucket, lostKey, &l.lost),
		getJSON(tx, progressBucket, missedKey, &l.missed),
		l.loadAlone(tx),
		l.times.load(tx),
	)
}

func (l *Ledger) loadNames(tx *bbolt.Tx) error {
	l.strings = stringTable{ids: make(map[string]uint64)}
	return forEachNumbered(tx, namesBucket, 0, func(_ uint64, value []byte) error {
		if _, known := l.strings.intern(string(value)); known {
			return fmt.Errorf("it has the name %q twice", value)
		}
		return nil
	})
}

func (l *Ledger) loadVotes(tx *bbolt.Tx) error {
	l.disputed, l.voters = make(map[uint64]int), make(voterSet)
	err := forEachNumbered(tx, votesBucket, 0, func(number uint64, value []byte) error {
		if len(value) < 9 || value[8] > voteVoided {
			return errors.New("not a vote")
		}
		r, err := parseResult(value[9:], &l.strings)
		if err == nil {
			err = l.checkReport(&r)
		}
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
			l.disputes = append(l.disputes, Dispute{Task: r.Task, Quorum: l.quorum()})
		}
		d := &l.disputes[i]
		if value[8] == voteVoided {
			d.Voided = append(d.Voided, r)
		} else {
			d.Votes, d.numbers = append(d.Votes, r), append(d.numbers, number)
			l.voters.note(&r)
		}
		l.voteCount++
		return nil
	})
	for i := range l.disputes {
		l.disputes[i].tally()
	}
	return err
}

// readRejections returns the stored rejections.
func (l *Ledger) readRejections(tx *bbolt.Tx) ([]Rejection, error) {
	var all []Rejection
	err := forEachNumbered(tx, rejectionsBucket, 0, func(_ uint64, value []byte) error {
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

// forEachNumbered calls f with each value of a bucket with the keys first, first+1, ...
func forEachNumbered(tx *bbolt.Tx, bucket []byte, first uint64, f func(number uint64, value []byte) error) error {
	next := first
	return tx.Bucket(bucket).ForEach(func(key, record []byte) error {
		if !bytes.Equal(key, key64(next)) {
			return fmt.Errorf("%s: number %d is missing", bucket, next)
		}
		value, err := verifyChecksum(bucket, key, record)
		if err == nil {
			err = f(next, value)
		}
		if err != nil {
			return fmt.Errorf("%s: number %d: %w", bucket, next, err)
		}
		next++
		return nil
	})
}
