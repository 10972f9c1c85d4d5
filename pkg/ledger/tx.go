package ledger

import (
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// fillPercent is how full bbolt leaves pages of results that it splits. Full pages waste
// least when tasks end in order, half full ones when they end in random order within a
// large window. This one takes 75 to 90 bytes a task either way.
const fillPercent = 0.65

// acceptTx is one transaction that changes results, and what will be held in memory once it is
// on disk.
type acceptTx struct {
	ledger    *Ledger
	tx        *bbolt.Tx
	results   *bbolt.Bucket
	supported []supported
	added     []figure  // Of the results that are accepted now.
	removed   []figure  // Of those that they replace, and of those that are void.
	disputes  []Dispute // Copied before the first change: the ledger has returned its own.
	copied    bool
	voteCount uint64
	rejected  uint64
	signed    map[*queens.Sealed]uint64 // The reports that it stores.
	voided    []Voided
	lost      uint64 // See [Ledger.Lost].
}

// supported is the support of a task from now on.
type supported struct {
	task    uint64
	support uint8
}

func newAcceptTx(l *Ledger) acceptTx {
	return acceptTx{ledger: l, voteCount: l.voteCount, disputes: l.disputes, rejected: l.rejected, lost: l.lost}
}

// begin prepares the transaction. Reports come in order of their numbers.
func (t *acceptTx) begin(tx *bbolt.Tx) {
	t.tx, t.results = tx, tx.Bucket(resultsBucket)
	t.results.FillPercent = fillPercent
	tx.Bucket(confirmationsBucket).FillPercent = fillPercent
	tx.Bucket(reportsBucket).FillPercent = 1
}

// commit holds in memory what is on disk now.
func (t *acceptTx) commit() {
	l := t.ledger
	for _, s := range t.supported {
		l.setSupport(s.task, s.support)
	}
	for i := range t.added {
		l.figures.add(&t.added[i])
	}
	for i := range t.removed {
		l.figures.remove(&t.removed[i])
	}
	for s := range t.signed {
		l.chunks[s.Key]++
	}
	l.reports += uint64(len(t.signed))
	l.disputes, l.voteCount, l.rejected, l.lost = t.disputes, t.voteCount, t.rejected, t.lost
}

// lose stores that so many tasks have lost their accepted result.
func (t *acceptTx) lose(tasks int) error {
	if tasks == 0 {
		return nil
	}
	t.lost += uint64(tasks)
	return putJSON(t.tx, progressBucket, lostKey, t.lost)
}

// rollback forgets the disputes that arose.
func (t *acceptTx) rollback() {
	for _, d := range t.disputes[len(t.ledger.disputes):] {
		delete(t.ledger.disputed, d.Task)
	}
}

func (t *acceptTx) setSupport(task uint64, support uint8) {
	t.supported = append(t.supported, supported{task, support})
}

// add stores one result.
func (t *acceptTx) add(r queens.Result) (Verdict, error) {
	if t.ledger.IsQuarantined(r.Key) {
		return Refused, nil
	}
	r.Run = t.ledger.header.Run
	if i, ok := t.ledger.disputed[r.Task]; ok {
		return t.addVote(i, r)
	}
	key := key64(r.Task)
	record := t.results.Get(key)
	if record == nil {
		if err := t.sign(&r); err != nil {
			return 0, err
		}
		t.setSupport(r.Task, supportOf([]queens.Result{r}))
		return Accepted, t.putResult(&r, nil)
	}
	first, err := t.ledger.decodeResult(key, record)
	if err != nil {
		return 0, err
	}
	confirmations, err := t.ledger.confirmationsOf(t.tx, r.Task)
	switch {
	case err != nil:
		return 0, err
	case first.Count == r.Count:
		return t.confirm(first, confirmations, r)
	}
	if err := t.beginDispute(first, confirmations); err != nil {
		return 0, err
	}
	return t.addVote(len(t.disputes)-1, r)
}

// beginDispute makes a dispute of a task: the results that agree become votes.
func (t *acceptTx) beginDispute(first queens.Result, confirmations []confirmation) error {
	t.copyDisputes()
	d := Dispute{Task: first.Task, Quorum: t.ledger.quorum()}
	d.append(first, t.voteCount)
	if err := t.putVote(first); err != nil {
		return err
	}
	for i := range confirmations {
		c := &confirmations[i]
		d.append(c.result, t.voteCount)
		if err := t.putVote(c.result); err != nil {
			return err
		}
		if err := t.tx.Bucket(confirmationsBucket).Delete(c.key); err != nil {
			return err
		}
	}
	d.tally()
	t.disputes = append(t.disputes, d)
	t.ledger.disputed[d.Task] = len(t.disputes) - 1
	return nil
}

// addVote stores a result of a disputed task.
func (t *acceptTx) addVote(dispute int, r queens.Result) (Verdict, error) {
	if !t.disputes[dispute].takes(&r) {
		return Duplicate, nil
	}
	if err := t.sign(&r); err != nil {
		return 0, err
	}
	t.copyDisputes()
	d := &t.disputes[dispute]
	before := d.acceptedVote()
	verdict := d.add(r, t.voteCount)
	if err := t.putVote(r); err != nil {
		return 0, err
	}
	t.setSupport(r.Task, d.support())
	if after := d.acceptedVote(); before == nil || *after != *before {
		return verdict, t.putResult(after, before)
	}
	return verdict, nil
}

func (t *acceptTx) copyDisputes() {
	if !t.copied {
		t.disputes, t.copied = slices.Clone(t.disputes), true
	}
}

// putResult stores a result as the accepted one of its task, in place of the one before, if it has one.
func (t *acceptTx) putResult(r, before *queens.Result) error {
	t.added = append(t.added, t.ledger.figureOf(r))
	if before != nil {
		t.removed = append(t.removed, t.ledger.figureOf(before))
	}
	return t.put(resultsBucket, key64(r.Task), nil, r)
}

// deleteResult deletes the accepted result of its task.
func (t *acceptTx) deleteResult(before *queens.Result) error {
	t.removed = append(t.removed, t.ledger.figureOf(before))
	return t.results.Delete(key64(before.Task))
}

// putVote stores the next vote.
func (t *acceptTx) putVote(r queens.Result) error {
	t.voteCount++
	return t.put(votesBucket, key64(t.voteCount-1), append(key64(r.Task), voteCounts), &r)
}

// put stores a result after a prefix, and names that are new.
func (t *acceptTx) put(bucket, key, prefix []byte, r *queens.Result) error {
	var ids nameIDs
	var err error
	if ids.worker, err = t.intern(r.Worker); err != nil {
		return err
	}
	if ids.kernel, err = t.intern(r.Kernel); err != nil {
		return err
	}
	if ids.hasKey = r.Key != ""; ids.hasKey {
		if ids.key, err = t.intern(r.Key); err != nil {
			return err
		}
	}
	return put(t.tx, bucket, key, appendResult(prefix, r, ids))
}

// intern returns the id of a name, and stores a new one. A new name of a transaction that fails
// stays in memory, where nothing uses it any more.
func (t *acceptTx) intern(name string) (uint64, error) {
	id, known := t.ledger.strings.intern(name)
	if known {
		return id, nil
	}
	return id, put(t.tx, namesBucket, key64(id), []byte(name))
}

// finish stores what does not concern single tasks.
func (t *acceptTx) finish(rejected []Rejection, at run.StreamPosition) error {
	for i := range rejected {
		if t.rejected < maxRejections {
			stored := rejected[i]
			stored.Result.Sealed = nil
			if err := putJSON(t.tx, rejectionsBucket, key64(t.rejected), stored); err != nil {
				return fmt.Errorf("a rejected result: %w", err)
			}
		}
		t.rejected++
	}
	if err := putJSON(t.tx, progressBucket, rejectedKey, t.rejected); err != nil {
		return err
	}
	return putJSON(t.tx, progressBucket, positionKey, at)
}
