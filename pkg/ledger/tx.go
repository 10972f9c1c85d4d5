package ledger

import (
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// initialize is how far pages of results are filled when they split. Full ones waste the
// least where tasks end in order, half full ones where they end in any order within a
// large window; this is 75 to 90 bytes a task either way.
const fillPercent = 0.65

// acceptTx is one transaction of Accept: what it writes, and what is to hold in memory
// once it is on disk.
type acceptTx struct {
	ledger    *Ledger
	results   *bbolt.Bucket
	tx        *bbolt.Tx
	accepted  []uint64
	disputes  []Dispute // the ledger's own until copied is set
	copied    bool
	voteCount uint64
	rejected  uint64
}

func (e *acceptTx) begin(tx *bbolt.Tx) {
	e.tx = tx
	e.results = tx.Bucket(resultsBucket)
	e.results.FillPercent = fillPercent
}

// add enters one result.
func (e *acceptTx) add(r queens.Result) (Verdict, error) {
	r.Run = e.ledger.header.Run
	if i, ok := e.ledger.disputed[r.Task]; ok {
		return e.vote(i, r)
	}
	key := key64(r.Task)
	sealed := e.results.Get(key)
	if sealed == nil {
		e.accepted = append(e.accepted, r.Task)
		return Accepted, e.putResult(r)
	}
	known, err := e.ledger.decodeResult(key, sealed)
	if err != nil {
		return 0, err
	}
	if known.Count == r.Count {
		return Duplicate, nil
	}
	if err := e.putVote(known); err != nil {
		return 0, err
	}
	e.copyDisputes()
	e.disputes = append(e.disputes, Dispute{Task: r.Task, Votes: []queens.Result{known}})
	e.ledger.disputed[r.Task] = len(e.disputes) - 1
	return e.vote(len(e.disputes)-1, r)
}

// add enters a result of a task that is in dispute.
func (e *acceptTx) vote(i int, r queens.Result) (Verdict, error) {
	e.copyDisputes()
	d := &e.disputes[i]
	before, _ := tally(d.Votes)
	verdict, kept := d.add(r)
	if !kept {
		return verdict, nil
	}
	if err := e.putVote(r); err != nil {
		return 0, err
	}
	if now, _ := tally(d.Votes); now != before {
		return verdict, e.putResult(d.Votes[now])
	}
	return verdict, nil
}

// copyDisputes lets the disputes be changed: those of the ledger stay as they are until
// all is on disk, and what it returned of them for good.
func (e *acceptTx) copyDisputes() {
	if !e.copied {
		e.disputes, e.copied = slices.Clone(e.disputes), true
	}
}

// putResult writes a result as the accepted one of its task.
func (e *acceptTx) putResult(r queens.Result) error {
	value, err := e.encode(nil, &r)
	if err != nil {
		return err
	}
	key := key64(r.Task)
	return e.results.Put(key, addChecksum(resultsBucket, key, value))
}

func (e *acceptTx) putVote(r queens.Result) error {
	value, err := e.encode(key64(r.Task), &r)
	if err != nil {
		return err
	}
	key := key64(e.voteCount)
	e.voteCount++
	return e.tx.Bucket(votesBucket).Put(key, addChecksum(votesBucket, key, value))
}

// encode appends a result to value, and enters the names that are new.
func (e *acceptTx) encode(value []byte, r *queens.Result) ([]byte, error) {
	worker, err := e.stringID(r.Worker)
	if err != nil {
		return nil, err
	}
	kernel, err := e.stringID(r.Kernel)
	if err != nil {
		return nil, err
	}
	return appendResult(value, r, worker, kernel), nil
}

// stringID returns the number that stands for a name. A name entered in a transaction
// that fails stays in memory, where nothing uses it any more.
func (e *acceptTx) stringID(name string) (uint64, error) {
	id, known := e.ledger.strings.intern(name)
	if known {
		return id, nil
	}
	key := key64(id)
	return id, e.tx.Bucket(namesBucket).Put(key, addChecksum(namesBucket, key, []byte(name)))
}

// finish enters what is not about single tasks.
func (e *acceptTx) finish(refused []Rejection, at run.StreamPosition) error {
	evidence, progress := e.tx.Bucket(evidenceBucket), e.tx.Bucket(progressBucket)
	for i := range refused {
		if e.rejected < maxEvidence {
			if err := putJSON(evidence, evidenceBucket, key64(e.rejected), rejectionJSON(refused[i])); err != nil {
				return fmt.Errorf("a refused result: %w", err)
			}
		}
		e.rejected++
	}
	if err := putJSON(progress, progressBucket, refusedKey, e.rejected); err != nil {
		return err
	}
	return putJSON(progress, progressBucket, positionKey, positionJSON(at))
}
