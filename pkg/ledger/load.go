package ledger

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// load reads and checks everything in the file and keeps what is held in memory. A
// writer removes the tasks with damaged results, and OpenTolerant skips them; to a reader
// they are an error, as other damage is to all.
func (l *Ledger) load() error {
	err := l.view(func(tx *bbolt.Tx) (err error) {
		if err := l.loadHeader(tx); err != nil {
			return err
		}
		for _, name := range buckets {
			if tx.Bucket(name) == nil {
				return l.damaged(fmt.Errorf("it has no bucket %s", name))
			}
		}
		err = cmp.Or(l.loadProgress(tx), l.loadNames(tx), l.loadStatements(tx), l.loadQuarantines(tx))
		if err != nil {
			return l.damaged(err)
		}
		return nil
	})
	if err == nil {
		err = l.loadResults()
	}
	if err == nil && l.mode == readWrite && len(l.damagedTasks) > 0 {
		err = l.change(func(c *change) error { return c.removeDamaged() })
	}
	return err
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

// loadNames makes names that can be shown of those in the file: a ledger may come from somebody else.
func (l *Ledger) loadNames(tx *bbolt.Tx) error {
	l.strings = stringTable{ids: make(map[string]uint64)}
	return forEachNumbered(tx, namesBucket, 0, func(_ uint64, value []byte) error {
		if _, known := l.strings.intern(queens.SanitizeName(string(value))); known {
			return fmt.Errorf("it has the name %q twice", value)
		}
		return nil
	})
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

// loadResults reads the results, those in dispute last.
func (l *Ledger) loadResults() error {
	l.support, l.disputes, l.voters = make([]uint8, l.header.Manifest.Tasks), make(map[uint64]*run.Dispute), make(voterSet)
	var disputes []*changedTask
	err := l.view(func(tx *bbolt.Tx) error {
		var last run.Result // Consecutive tasks mostly have one key.
		for cursor := l.seek(tx, 0); ; {
			task, all, err := cursor.next(noTask)
			for i := range all {
				if id := all[i].StatementID; id > l.statements {
					err = cmp.Or(err, l.damaged(fmt.Errorf("the result of task %d: it names statement %d of %d", task, id, l.statements)))
				}
			}
			switch {
			case err != nil && (task == noTask || l.mode == readOnly):
				return err
			case err != nil:
				l.damagedTasks = append(l.damagedTasks, task)
				continue
			case task == noTask:
				return nil
			}
			isDisputed := all[0].disputed
			if isDisputed {
				all = slices.Clone(all) // the cursor uses the memory again
			}
			t := &changedTask{task: task, now: l.outcomeOf(all)}
			if isDisputed {
				t.dispute = newDispute(task, all, t.now, l.quorum())
				disputes = append(disputes, t)
				continue
			}
			for i := range all {
				if r := &all[i].Result; r.Key != last.Key || r.ByToken != last.ByToken || r.Admitted != last.Admitted {
					l.voters.note(r)
					last = *r
				}
			}
			l.loadTask(t)
		}
	})
	if err != nil {
		return err
	}
	for _, t := range disputes {
		// If a record is damaged whose key was hit, it may be a vote of any dispute: then none is as it was, and their
		// tasks are counted again.
		if len(l.damagedTasks) > 0 {
			l.damagedTasks = append(l.damagedTasks, t.task)
			continue
		}
		for i := range t.dispute.Votes {
			l.voters.note(&t.dispute.Votes[i])
		}
		l.loadTask(t)
	}
	slices.Sort(l.damagedTasks)
	return nil
}

// loadTask holds a task in memory.
func (l *Ledger) loadTask(t *changedTask) {
	if accepted := t.now.accepted; accepted != nil {
		l.early.add(accepted)
	}
	l.changed(t)
}

// removeDamaged removes the tasks with damaged results from the file: what is left of them is counted again.
func (c *change) removeDamaged() error {
	for _, task := range c.ledger.damagedTasks {
		cursor := c.results.Cursor()
		for key, _ := cursor.Seek(key64(task)); bytes.HasPrefix(key, key64(task)); key, _ = cursor.Seek(key64(task)) {
			if err := cursor.Delete(); err != nil {
				return err
			}
		}
	}
	c.progress.Lost += uint64(len(c.ledger.damagedTasks))
	return nil
}
