package ledger

import (
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// fill is how far pages of results are filled when they split. Full ones waste the
// least where tasks end in order, half full ones where they end in any order within a
// large window; this is 75 to 90 bytes a task either way.
const fill = 0.65

// entry is one transaction of Accept: what it writes, and what is to hold in memory
// once it is on disk.
type entry struct {
	ledger   *Ledger
	results  *bbolt.Bucket
	tx       *bbolt.Tx
	accepted []uint64
	disputes []Dispute // the ledger's own until copied is set
	copied   bool
	votes    uint64
	refused  uint64
}

func (e *entry) begin(tx *bbolt.Tx) {
	e.tx = tx
	e.results = tx.Bucket(resultsBucket)
	e.results.FillPercent = fill
}

// enter enters one result.
func (e *entry) enter(r queens.Result) (Verdict, error) {
	r.Run = e.ledger.header.Run
	if i, ok := e.ledger.disputed[r.Task]; ok {
		return e.vote(i, r)
	}
	key := number(r.Task)
	sealed := e.results.Get(key)
	if sealed == nil {
		e.accepted = append(e.accepted, r.Task)
		return Accepted, e.accept(r)
	}
	known, err := e.ledger.record(key, sealed)
	if err != nil {
		return 0, err
	}
	if known.Count == r.Count {
		return Duplicate, nil
	}
	if err := e.keepVote(known); err != nil {
		return 0, err
	}
	e.copyDisputes()
	e.disputes = append(e.disputes, Dispute{Task: r.Task, Votes: []queens.Result{known}})
	e.ledger.disputed[r.Task] = len(e.disputes) - 1
	return e.vote(len(e.disputes)-1, r)
}

// vote enters a result of a task that is in dispute.
func (e *entry) vote(i int, r queens.Result) (Verdict, error) {
	e.copyDisputes()
	d := &e.disputes[i]
	before, _ := decide(d.Votes)
	verdict, kept := d.vote(r)
	if !kept {
		return verdict, nil
	}
	if err := e.keepVote(r); err != nil {
		return 0, err
	}
	if now, _ := decide(d.Votes); now != before {
		return verdict, e.accept(d.Votes[now])
	}
	return verdict, nil
}

// copyDisputes lets the disputes be changed: those of the ledger stay as they are until
// all is on disk, and what it returned of them for good.
func (e *entry) copyDisputes() {
	if !e.copied {
		e.disputes, e.copied = slices.Clone(e.disputes), true
	}
}

// accept writes a result as the accepted one of its task.
func (e *entry) accept(r queens.Result) error {
	value, err := e.encode(nil, &r)
	if err != nil {
		return err
	}
	key := number(r.Task)
	return e.results.Put(key, seal(resultsBucket, key, value))
}

func (e *entry) keepVote(r queens.Result) error {
	value, err := e.encode(number(r.Task), &r)
	if err != nil {
		return err
	}
	key := number(e.votes)
	e.votes++
	return e.tx.Bucket(votesBucket).Put(key, seal(votesBucket, key, value))
}

// encode appends a result to value, and enters the names that are new.
func (e *entry) encode(value []byte, r *queens.Result) ([]byte, error) {
	worker, err := e.name(r.Worker)
	if err != nil {
		return nil, err
	}
	kernel, err := e.name(r.Kernel)
	if err != nil {
		return nil, err
	}
	return appendResult(value, r, worker, kernel), nil
}

// name returns the number that stands for a name. A name entered in a transaction
// that fails stays in memory, where nothing uses it any more.
func (e *entry) name(name string) (uint64, error) {
	id, known := e.ledger.names.number(name)
	if known {
		return id, nil
	}
	key := number(id)
	return id, e.tx.Bucket(namesBucket).Put(key, seal(namesBucket, key, []byte(name)))
}

// finish enters what is not about single tasks.
func (e *entry) finish(refused []Rejection, at run.StreamPosition) error {
	evidence, progress := e.tx.Bucket(evidenceBucket), e.tx.Bucket(progressBucket)
	for i := range refused {
		if e.refused < maxRefusals {
			if err := putJSON(evidence, evidenceBucket, number(e.refused), keptRefusal(refused[i])); err != nil {
				return fmt.Errorf("a refused result: %w", err)
			}
		}
		e.refused++
	}
	if err := putJSON(progress, progressBucket, refusedKey, e.refused); err != nil {
		return err
	}
	return putJSON(progress, progressBucket, positionKey, keptPosition(at))
}
