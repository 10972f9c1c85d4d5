// Package ledger keeps the accounts of a run on disk: for each task the one accepted
// result, and beside it whatever disagreed or was refused. What it says is accepted
// has been fsynced, and it returns nothing whose checksum does not hold. It adds
// nothing up, and knows neither tasks nor where results come from.
//
// A ledger is the file ledger.db in a folder of its own, of bbolt's format. Beside it,
// while a writer has it open, holder.json says who that is.
package ledger

import (
	"fmt"
	"iter"
	"os"
	"time"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Version is that of the format. The file says its own; another is refused.
const Version = 1

// Header is what a ledger is made with, and keeps unchanged.
type Header struct {
	Run      string
	Created  time.Time
	Manifest queens.Manifest
}

// Rejection is a result that can't be one of the run's, and why.
type Rejection struct {
	Result queens.Result
	Reason string
}

// maxEvidence bounds the refused results that are kept: the first ones.
const maxEvidence = 10_000

// Ledger is the accounts of one run. It is for one goroutine at a time. In memory it
// holds a bit a task, the names of workers and kernels, and the disputes.
type Ledger struct {
	path     string
	header   Header
	file     *os.File // Closing it ends the lock; db closes it, where db can still be closed.
	db       *bbolt.DB
	mode     openMode
	lockInfo LockInfo // as holder.json says it; zero where this is no writer

	accepted     bitmap
	strings      stringTable
	disputes     []Dispute
	disputed     map[uint64]int // by task: index in disputes
	voteCount    uint64         // in the file, of all disputes
	position     run.StreamPosition
	rejected     uint64
	state        run.State
	damagedTasks []uint64

	reading int   // iterations of All that are under way
	failed  error // what ended the use of the file, for every later call
	broken  bool  // bbolt panicked: its locks may be held for good
}

// Header returns what the ledger was made with.
func (l *Ledger) Header() Header { return l.header }

// Position returns the place in the stream of results up to which all is entered.
func (l *Ledger) Position() run.StreamPosition { return l.position }

// Has reports whether a task has an accepted result.
func (l *Ledger) Has(task uint64) bool {
	return task < l.header.Manifest.Tasks && l.accepted.has(task)
}

// Len returns the number of tasks with an accepted result.
func (l *Ledger) Len() uint64 { return l.accepted.count }

// Rejected returns the number of results that were refused, kept as evidence or not.
func (l *Ledger) Rejected() uint64 { return l.rejected }

// Damaged returns the tasks whose records failed their checksum when the ledger was
// opened, and count as not accepted: [Open] has taken the records out, and put back
// from the votes what is in dispute; [Look] has passed over them all. A record whose
// task number itself was hit stands here under the number that it had then.
func (l *Ledger) Damaged() []uint64 { return l.damagedTasks }

// State says how far the run has come: [run.Running] at first.
func (l *Ledger) State() run.State { return l.state }

// SetState enters the state of the run; it is on disk when SetState returns nil. An
// error is as one of [Ledger.Accept].
func (l *Ledger) SetState(s run.State) error {
	if s == l.state && l.failed == nil {
		return nil
	}
	if err := l.update(func(tx *bbolt.Tx) error { return putJSON(tx.Bucket(progressBucket), progressBucket, stateKey, s) }); err != nil {
		return err
	}
	l.state = s
	return nil
}

// Accept enters a batch of results, in order, refused ones as evidence, and the place
// in the stream of results up to which all is entered. It returns a verdict for each
// of the batch. The caller has checked that each belongs to the run and counted the
// right task.
//
// All is one transaction, and on disk when Accept returns nil. On an error nothing of
// it is accepted: a task that the run does not have is the caller's mistake and
// changes nothing; any other error is that of the disk or of the file, wraps
// [queens.ErrIncomplete], and is what every later call that needs the file returns.
// Where the last fsync failed nobody can know what the disk holds, and a ledger opened
// later may have the batch.
func (l *Ledger) Accept(batch []queens.Result, refused []Rejection, at run.StreamPosition) ([]Verdict, error) {
	for i := range batch {
		if batch[i].Task >= l.header.Manifest.Tasks {
			return nil, fmt.Errorf("the ledger %s: a result of task %d, of a run of %d tasks", l.path, batch[i].Task, l.header.Manifest.Tasks)
		}
	}
	at.Created = canonicalTime(at.Created)
	if len(batch) == 0 && len(refused) == 0 && at == l.position && l.failed == nil {
		return nil, nil
	}
	e := acceptTx{ledger: l, voteCount: l.voteCount, disputes: l.disputes, rejected: l.rejected}
	verdicts := make([]Verdict, len(batch))
	err := l.update(func(tx *bbolt.Tx) error {
		e.begin(tx)
		for i := range batch {
			var err error
			if verdicts[i], err = e.add(batch[i]); err != nil {
				return err
			}
		}
		return e.finish(refused, at)
	})
	if err != nil {
		for task, i := range l.disputed {
			if i >= len(l.disputes) {
				delete(l.disputed, task)
			}
		}
		return nil, err
	}
	for _, task := range e.accepted {
		l.accepted.set(task)
	}
	l.disputes, l.voteCount, l.rejected, l.position = e.disputes, e.voteCount, e.rejected, at
	if time.Since(l.lockInfo.Updated) >= lockInfoInterval {
		l.writeLockInfo()
	}
	return verdicts, nil
}

// Result returns the accepted result of a task, and whether there is one. It is read
// from the file, and a record that is damaged is a [DamagedError].
func (l *Ledger) Result(task uint64) (queens.Result, bool, error) {
	if !l.Has(task) {
		return queens.Result{}, false, l.failed
	}
	var r queens.Result
	err := l.view(func(tx *bbolt.Tx) (err error) {
		key := key64(task)
		r, err = l.decodeResult(key, tx.Bucket(resultsBucket).Get(key))
		return err
	})
	return r, err == nil, err
}

// All reads every accepted result again, in order of task. It stops at the first
// error: a [DamagedError] where a record is damaged, lacking, or too much. Nothing can
// be written to the ledger until the iteration has ended.
func (l *Ledger) All() iter.Seq2[queens.Result, error] {
	return func(yield func(queens.Result, error) bool) {
		r, err := l.newReader()
		if err != nil {
			yield(queens.Result{}, err)
			return
		}
		defer r.close()
		for {
			part, err := r.next()
			for _, result := range part {
				if !yield(result, nil) {
					return
				}
			}
			if err != nil {
				yield(queens.Result{}, err)
				return
			}
			if len(part) == 0 {
				return
			}
		}
	}
}

// Disputes returns the disputes, open and settled, in the order in which they came.
// The caller must not change them; what Accept does later does not.
func (l *Ledger) Disputes() []Dispute { return l.disputes }

// Rejections returns the refused results that were kept, in the order in which they
// came.
func (l *Ledger) Rejections() ([]Rejection, error) {
	var kept []Rejection
	err := l.view(func(tx *bbolt.Tx) (err error) {
		kept, err = l.readRejections(tx)
		return err
	})
	return kept, err
}
