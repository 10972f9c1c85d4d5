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

// acceptTx is one transaction of Accept, and what will be held in memory once it is on
// disk.
type acceptTx struct {
	ledger    *Ledger
	tx        *bbolt.Tx
	results   *bbolt.Bucket
	accepted  []uint64
	disputes  []Dispute // Copied before the first change: the ledger has returned its own.
	copied    bool
	voteCount uint64
	rejected  uint64
}

func (t *acceptTx) begin(tx *bbolt.Tx) {
	t.tx, t.results = tx, tx.Bucket(resultsBucket)
	t.results.FillPercent = fillPercent
}

// add stores one result.
func (t *acceptTx) add(r queens.Result) (Verdict, error) {
	r.Run = t.ledger.header.Run
	if i, ok := t.ledger.disputed[r.Task]; ok {
		return t.addVote(i, r)
	}
	key := key64(r.Task)
	record := t.results.Get(key)
	if record == nil {
		t.accepted = append(t.accepted, r.Task)
		return Accepted, t.putResult(r)
	}
	first, err := t.ledger.decodeResult(key, record)
	if err != nil {
		return 0, err
	}
	if first.Count == r.Count {
		return Duplicate, nil
	}
	if err := t.putVote(first); err != nil {
		return 0, err
	}
	t.copyDisputes()
	t.disputes = append(t.disputes, Dispute{Task: r.Task, Votes: []queens.Result{first}})
	t.ledger.disputed[r.Task] = len(t.disputes) - 1
	return t.addVote(len(t.disputes)-1, r)
}

// addVote stores a result of a disputed task.
func (t *acceptTx) addVote(dispute int, r queens.Result) (Verdict, error) {
	t.copyDisputes()
	d := &t.disputes[dispute]
	before := winner(d.Votes)
	verdict, added := d.add(r)
	if !added {
		return verdict, nil
	}
	if err := t.putVote(r); err != nil {
		return 0, err
	}
	if now := winner(d.Votes); now != before {
		return verdict, t.putResult(d.Votes[now])
	}
	return verdict, nil
}

func (t *acceptTx) copyDisputes() {
	if !t.copied {
		t.disputes, t.copied = slices.Clone(t.disputes), true
	}
}

// putResult stores a result as the accepted one of its task.
func (t *acceptTx) putResult(r queens.Result) error {
	return t.put(resultsBucket, key64(r.Task), nil, &r)
}

func (t *acceptTx) putVote(r queens.Result) error {
	t.voteCount++
	return t.put(votesBucket, key64(t.voteCount-1), key64(r.Task), &r)
}

// put stores a result after a prefix, and names that are new. A new name of a
// transaction that fails stays in memory, where nothing uses it any more.
func (t *acceptTx) put(bucket, key, prefix []byte, r *queens.Result) error {
	var ids [2]uint64
	for i, name := range []string{r.Worker, r.Kernel} {
		id, known := t.ledger.strings.intern(name)
		if !known {
			if err := put(t.tx, namesBucket, key64(id), []byte(name)); err != nil {
				return err
			}
		}
		ids[i] = id
	}
	return put(t.tx, bucket, key, appendResult(prefix, r, ids[0], ids[1]))
}

// finish stores what does not concern single tasks.
func (t *acceptTx) finish(rejected []Rejection, at run.StreamPosition) error {
	for i := range rejected {
		if t.rejected < maxRejections {
			if err := putJSON(t.tx, rejectionsBucket, key64(t.rejected), rejected[i]); err != nil {
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
