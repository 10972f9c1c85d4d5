package ledger

import (
	"encoding/binary"

	"go.etcd.io/bbolt"

	"nqueens/pkg/run"
)

// fillPercent is how full bbolt leaves pages of results that it splits. Full pages waste
// least when tasks end in order, half full ones when they end in random order within a
// large window. This one takes 75 to 90 bytes a task either way.
const fillPercent = 0.65

// change is a transaction that changes results, and what will be held in memory once it is on disk.
type change struct {
	ledger   *Ledger
	tx       *bbolt.Tx
	results  *bbolt.Bucket
	signed   map[*run.Sealed]uint64 // The statements that it stores.
	tasks    []changedTask
	progress progress
}

// changedTask is a task before and after a change.
type changedTask struct {
	task        uint64
	before, now outcome
	dispute     *run.Dispute // Now; nil if there is none.
}

// change changes the file in one transaction, and then what is held in memory. After an error nothing
// of it is held, and the ledger is unusable.
func (l *Ledger) change(f func(*change) error) error {
	c := change{ledger: l, signed: make(map[*run.Sealed]uint64), progress: l.progress}
	err := l.update(func(tx *bbolt.Tx) error {
		c.tx, c.results = tx, tx.Bucket(resultsBucket)
		c.results.FillPercent = fillPercent
		tx.Bucket(statementsBucket).FillPercent = 1 // They come in order of their numbers.
		if err := f(&c); err != nil {
			return err
		}
		return l.putProgress(tx, &c.progress)
	})
	if err != nil {
		return err
	}
	for i := range c.tasks {
		l.changed(&c.tasks[i])
	}
	for s := range c.signed {
		l.chunks[s.Key]++
	}
	l.statements += uint64(len(c.signed))
	l.progress = c.progress
	return nil
}

// changed holds in memory what the file has of a task now.
func (l *Ledger) changed(t *changedTask) {
	if t.before.accepted != nil {
		l.accepted--
		l.figures.remove(&l.header.Manifest, t.before.accepted)
	}
	if t.now.accepted != nil {
		l.accepted++
		l.figures.add(&l.header.Manifest, t.now.accepted)
	}
	l.support[t.task] = t.now.support
	if t.dispute != nil {
		l.disputes[t.task] = t.dispute
	}
}

// add stores one result.
func (c *change) add(r run.Result) (Verdict, error) {
	l := c.ledger
	if l.IsQuarantined(r.Key) {
		return Refused, nil
	}
	r.Run = l.header.Run
	before, err := l.resultsOf(c.tx, r.Task)
	if err != nil {
		return 0, err
	}
	was := l.outcomeOf(before)
	if !was.takes(before, &r) {
		return Duplicate, nil
	}
	if err := c.sign(&r); err != nil {
		return 0, err
	}
	now, err := c.set(r.Task, before, append(before[:len(before):len(before)], stored{Result: r}))
	switch {
	case was.accepted == nil:
		return Accepted, err
	case was.settled && was.accepted.Count == r.Count:
		return Confirmed, err
	case !was.settled && now.settled, r.Worker == run.Referee:
		return Settled, err
	}
	return Conflict, err
}

// set stores the results of a task in place of those before, and returns what they add up to.
func (c *change) set(task uint64, before, now []stored) (outcome, error) {
	t := changedTask{task: task, before: c.ledger.outcomeOf(before), now: c.ledger.outcomeOf(now)}
	if isDisputed(now) {
		first := now[0]
		first.disputed = true
		now = append([]stored{first}, now[1:]...)
		t.dispute = newDispute(task, now, t.now, c.ledger.quorum())
	}
	for i := range max(len(before), len(now)) {
		var err error
		switch key := resultKey(task, i); {
		case i >= len(now):
			err = c.results.Delete(key)
		case i >= len(before) || now[i] != before[i]:
			err = c.put(key, &now[i])
		}
		if err != nil {
			return t.now, err
		}
	}
	if t.before.accepted != nil && t.now.accepted == nil {
		c.progress.Lost++
	}
	c.tasks = append(c.tasks, t)
	return t.now, nil
}

// put stores a result, and names that are new.
func (c *change) put(key []byte, r *stored) error {
	var ids nameIDs
	var err error
	if ids.worker, err = c.intern(r.Worker); err != nil {
		return err
	}
	if ids.kernel, err = c.intern(r.Kernel); err != nil {
		return err
	}
	if ids.hasKey = r.Key != ""; ids.hasKey {
		if ids.key, err = c.intern(r.Key); err != nil {
			return err
		}
	}
	return put(c.tx, resultsBucket, key, encodeResult(r, ids))
}

// intern returns the id of a name, and stores a new one. A new name of a transaction that fails
// stays in memory, where nothing uses it any more.
func (c *change) intern(name string) (uint64, error) {
	id, known := c.ledger.strings.intern(name)
	if known {
		return id, nil
	}
	return id, put(c.tx, namesBucket, key64(id), []byte(name))
}

// sign stores the statement of a result, unless this transaction has, and names it in the result.
func (c *change) sign(r *run.Result) error {
	s := r.Sealed
	r.Sealed, r.StatementID = nil, 0
	if s == nil {
		return nil
	}
	number, known := c.signed[s]
	if !known {
		id, err := c.intern(s.Key)
		if err != nil {
			return err
		}
		number = c.ledger.statements + uint64(len(c.signed)) + 1
		if err := put(c.tx, statementsBucket, key64(number), appendStatement(nil, s, id)); err != nil {
			return err
		}
		c.signed[s] = number
	}
	r.StatementID = number
	return nil
}

// resultKey returns the key of a task's result, by the order in which they came: of the first it is the task.
func resultKey(task uint64, i int) []byte {
	if i == 0 {
		return key64(task)
	}
	return binary.BigEndian.AppendUint16(key64(task), uint16(i))
}
