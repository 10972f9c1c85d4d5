package ledger

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"go.etcd.io/bbolt"

	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
)

// loadedTasks is how many tasks a core loads at a time. It is a multiple of 64: no two cores
// write a word of the bitmap.
const loadedTasks = 1 << 13

// loaded is what the results of a range of tasks are.
type loaded struct {
	count            uint64         // Of the results that are intact.
	bad              []uint64       // Tasks of results that are damaged.
	badConfirmations [][]byte       // Keys of confirmations that are damaged.
	orphans          []confirmation // Confirmations of results that are missing or damaged.
	voters           voterSet
	figures          loadedFigures
	early            []earlySpan
}

// loadResults reads the results on all cores.
func (l *Ledger) loadResults() (all loaded, err error) {
	tasks := l.header.Manifest.Tasks
	l.accepted, l.support = newBitmap(tasks), make([]uint8, tasks)
	ranges := func(yield func(uint64) bool) {
		for first := uint64(0); first == 0 || first < tasks; first += loadedTasks {
			if !yield(first) {
				return
			}
		}
	}
	err = parallel.InOrder(context.Background(), ranges, func(_ context.Context, first uint64) (loaded, error) {
		end := first + loadedTasks
		if end >= tasks {
			end = math.MaxUint64 // with what is beyond the tasks
		}
		return l.loadRange(first, end)
	}, func(some loaded) error {
		all.bad = append(all.bad, some.bad...)
		all.badConfirmations = append(all.badConfirmations, some.badConfirmations...)
		all.orphans = append(all.orphans, some.orphans...)
		l.accepted.count += some.count
		for key, byToken := range some.voters {
			l.voters.add(key, byToken)
		}
		l.figures.merge(&some.figures)
		l.early.spans = append(l.early.spans, some.early...)
		return nil
	})
	return all, err
}

// loadRange reads the results of the tasks from first on and before end, and notes what supports
// each.
func (l *Ledger) loadRange(first, end uint64) (some loaded, err error) {
	some.voters = make(voterSet)
	some.figures.byWorker = make(map[string]*uint64)
	err = l.view(func(tx *bbolt.Tx) error {
		confirmations, err := l.loadConfirmations(tx, first, end, &some)
		if err != nil {
			return err
		}
		var agreeing []queens.Result
		var last queens.Result // Consecutive tasks mostly have one key.
		err = forEachTask(tx, resultsBucket, first, end, func(key, record []byte) error {
			r, err := l.decodeResult(key, record)
			if err == nil {
				err = l.checkReport(&r)
			}
			if err != nil {
				if l.mode == readOnly || len(key) != 8 {
					return err
				}
				some.bad = append(some.bad, r.Task)
				return nil
			}
			if r.Key != last.Key || r.ByToken != last.ByToken || r.Admitted != last.Admitted {
				some.voters.note(&r)
				last = r
			}
			agreeing = append(agreeing[:0], r)
			for len(confirmations) > 0 && confirmations[0].result.Task <= r.Task {
				if c := confirmations[0]; c.result.Task < r.Task {
					some.orphans = append(some.orphans, c)
				} else {
					agreeing = append(agreeing, c.result)
				}
				confirmations = confirmations[1:]
			}
			support, err := l.checkSupport(agreeing)
			if err != nil {
				return err
			}
			l.accepted.words[r.Task/64] |= 1 << (r.Task % 64)
			l.support[r.Task] = support
			some.figures.note(&l.header.Manifest, &r)
			if l.early.has(&r) {
				some.early = appendTask(some.early, &r)
			}
			some.count++
			return nil
		})
		some.orphans = append(some.orphans, confirmations...)
		return err
	})
	return some, err
}

// loadConfirmations reads the confirmations of the tasks from first on and before end. It adds
// the damaged ones to what is loaded.
func (l *Ledger) loadConfirmations(tx *bbolt.Tx, first, end uint64, some *loaded) (all []confirmation, err error) {
	err = forEachTask(tx, confirmationsBucket, first, end, func(key, record []byte) error {
		r, err := l.decodeConfirmation(key, record)
		if err == nil {
			err = l.checkReport(&r)
		}
		switch {
		case err == nil:
			all = append(all, confirmation{bytes.Clone(key), r})
			some.voters.note(&r)
		case l.mode == readOnly:
			return err
		default:
			some.badConfirmations = append(some.badConfirmations, bytes.Clone(key))
		}
		return nil
	})
	return all, err
}

// forEachTask calls f with each record of a bucket whose key begins with a task from first on and
// before end.
func forEachTask(tx *bbolt.Tx, bucket []byte, first, end uint64, f func(key, record []byte) error) error {
	last := key64(end)
	cursor := tx.Bucket(bucket).Cursor()
	key, record := cursor.First()
	if first > 0 {
		key, record = cursor.Seek(key64(first))
	}
	for ; key != nil && (end == math.MaxUint64 || bytes.Compare(key, last) < 0); key, record = cursor.Next() {
		if err := f(key, record); err != nil {
			return err
		}
	}
	return nil
}

// checkSupport returns the support of the accepted result of a task, the first of those given; the
// others are its confirmations.
func (l *Ledger) checkSupport(agreeing []queens.Result) (uint8, error) {
	r := agreeing[0]
	if i, ok := l.disputed[r.Task]; ok {
		d := &l.disputes[i]
		switch {
		case d.accepted < 0 || d.Votes[d.accepted] != r:
			return 0, l.damaged(fmt.Errorf("the result of task %d is not the one that its votes chose", r.Task))
		case len(agreeing) > 1:
			return 0, l.damaged(fmt.Errorf("task %d has votes and confirmations", r.Task))
		}
		return d.support(), nil
	}
	for i := range agreeing {
		if agreeing[i].Count != r.Count || slices.ContainsFunc(agreeing[:i], func(a queens.Result) bool { return a.Voter() == agreeing[i].Voter() }) {
			return 0, l.damaged(fmt.Errorf("a confirmation of task %d does not confirm it", r.Task))
		}
	}
	return supportOf(agreeing), nil
}

// decodeResult returns the result of a record; with an error, only its task.
func (l *Ledger) decodeResult(key, record []byte) (queens.Result, error) {
	if len(key) != 8 {
		return queens.Result{}, l.damaged(fmt.Errorf("a result has the key %x", key))
	}
	return l.decode(resultsBucket, key, record)
}

// decode returns the result of a record of a bucket, whose key begins with the task; with an error,
// only its task.
func (l *Ledger) decode(bucket, key, record []byte) (queens.Result, error) {
	task := binary.BigEndian.Uint64(key)
	value, err := verifyChecksum(bucket, key, record)
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

// checkReport returns an error if the file lacks the report that a loaded result names.
func (l *Ledger) checkReport(r *queens.Result) error {
	if r.Report > l.reports {
		return fmt.Errorf("it names report %d of %d", r.Report, l.reports)
	}
	return nil
}

// repair removes the damaged records, and restores missing results: those of disputed tasks are
// among the votes too, and any confirmation can take the place of the result that it confirms.
func (l *Ledger) repair(found loaded) error {
	missing := l.missing(found.orphans)
	switch {
	case len(found.bad) == 0 && len(found.badConfirmations) == 0 && len(missing) == 0:
		return nil
	case l.mode == readOnly:
		return l.damaged(fmt.Errorf("task %d has votes or confirmations and no result", missing[0].Task))
	}
	t := newAcceptTx(l)
	err := l.update(func(tx *bbolt.Tx) error {
		t.begin(tx)
		for _, task := range found.bad {
			if err := t.results.Delete(key64(task)); err != nil {
				return err
			}
		}
		for _, key := range found.badConfirmations {
			if err := tx.Bucket(confirmationsBucket).Delete(key); err != nil {
				return err
			}
		}
		lost := len(found.bad)
		for _, r := range missing {
			if err := t.restore(r); err != nil {
				return err
			}
			if _, bad := slices.BinarySearch(found.bad, r.Task); bad {
				lost--
			}
		}
		return t.lose(lost)
	})
	if err != nil {
		return err
	}
	t.commit()
	for i := range missing {
		l.early.add(&missing[i])
	}
	l.damagedTasks = slices.DeleteFunc(found.bad, l.Has)
	return nil
}

// missing returns what can take the place of each missing result.
func (l *Ledger) missing(orphans []confirmation) (missing []queens.Result) {
	for i := range l.disputes {
		if d := &l.disputes[i]; d.accepted >= 0 && !l.accepted.has(d.Task) {
			missing = append(missing, d.Votes[d.accepted])
		}
	}
	last := -1
	for i := range orphans {
		if last < 0 || orphans[last].result.Task != orphans[i].result.Task {
			missing = append(missing, orphans[i].result)
		}
		last = i
	}
	return missing
}

// restore stores the result of a task that has none. If it was a confirmation, it is none any more.
func (t *acceptTx) restore(r queens.Result) error {
	if i, disputed := t.ledger.disputed[r.Task]; disputed {
		t.setSupport(r.Task, t.disputes[i].support())
		return t.putResult(&r, nil)
	}
	confirmations, err := t.ledger.confirmationsOf(t.tx, r.Task)
	if err != nil {
		return err
	}
	var agreeing []queens.Result
	for i := range confirmations {
		c := &confirmations[i]
		agreeing = append(agreeing, c.result)
		if c.result == r {
			if err := t.tx.Bucket(confirmationsBucket).Delete(c.key); err != nil {
				return err
			}
		}
	}
	t.setSupport(r.Task, supportOf(agreeing))
	return t.putResult(&r, nil)
}
