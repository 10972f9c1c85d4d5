// Package ledger stores the accounts of a run on disk: the results of each task, of which at most one is accepted,
// and what the workers signed. A result that it calls accepted has been fsynced, and it returns nothing whose checksum is wrong. It
// makes no total, and knows neither how tasks are made nor where results come from.
//
// A ledger is the file ledger.db in the folder of its run, in bbolt's format. While a
// writer has it open, holder.json beside it says which process that is, and only that process
// can copy it (copy.go).
//
// bbolt trusts the pages of its file: a damaged one makes it panic, also in goroutines
// of its own where nobody can recover, read outside the file, or loop. So the package
// checks every page of a file before bbolt opens it (boltcheck.go), and takes what then
// still panics for damage.
package ledger

import (
	"fmt"
	"iter"
	"os"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Version is the version of the file format. A file of another version is refused.
const Version = 6

// Header is what a ledger is created with. It never changes.
type Header struct {
	Run      string          `json:"run"`
	Created  time.Time       `json:"created"`
	Manifest queens.Manifest `json:"manifest"`
	Trust    Trust           `json:"trust"`
}

// Ledger is the accounts of one run. Only one goroutine at a time may use it; but several
// may call Has, Result, Results and Range while none calls another method. It holds in memory a byte per task, the
// names of workers and kernels, the keys, the first statements of each key, and the disputes.
type Ledger struct {
	path     string
	header   Header
	file     *os.File // Closing it releases the lock. db.Close does that too.
	db       *bbolt.DB
	mode     openMode
	lockInfo LockInfo // Zero for a reader, and once the ledger is closed.

	support      []uint8 // By task, see supportOf.
	accepted     uint64  // Tasks with an accepted result.
	figures      Figures
	statements   uint64 // In the file.
	chunks       map[string]uint64
	early        early
	quarantines  map[string]quarantine
	revoking     map[string]struct{} // Their keys with results that still count.
	strings      stringTable
	disputes     map[uint64]*run.Dispute // By task.
	voters       voterSet
	damagedTasks []uint64

	progress  progress // In the file.
	wall      time.Duration
	history   *run.History
	historyAt time.Duration // The wall time when the history was stored.

	reading  atomic.Int64        // Iterations of Range in progress.
	onCommit func(time.Duration) // Nil unless set by OnCommit.
	failed   failure
}

// Header returns what the ledger was created with.
func (l *Ledger) Header() Header { return l.header }

// OnCommit has a function called with the time that each later transaction takes to get to the disk,
// once it is there. The function must not block. Call OnCommit before other goroutines use the ledger.
func (l *Ledger) OnCommit(each func(time.Duration)) { l.onCommit = each }

// Has reports whether a task has an accepted result.
func (l *Ledger) Has(task uint64) bool { return task < uint64(len(l.support)) && l.support[task] != 0 }

// Len returns the number of tasks with an accepted result.
func (l *Ledger) Len() uint64 { return l.accepted }

// Damaged returns the tasks of which a record was damaged when the ledger was
// opened, and if there are some, those in dispute: a result may be missing there. They count as not accepted. [Open]
// has removed their records; [OpenTolerant] has skipped them. A record
// whose key was hit is listed under the task number that it had then.
func (l *Ledger) Damaged() []uint64 { return l.damagedTasks }

// Accept stores a batch of results, in order, how many more were rejected, and the place
// in the stream of results up to which all are stored. It returns a verdict for each
// result of the batch. The caller has checked that each belongs to the run and counted
// the right task, and that its statement, if it has one, says the same and is signed.
// Each statement is stored once, if anything of it is; results share it by the pointer.
//
// All of it is one transaction, and on disk when Accept returns nil. On an error
// nothing is accepted. A task that the run does not have, or a key that did not sign, is the
// caller's mistake and changes nothing. Any other error is one of the disk or the file: it wraps
// [run.ErrIncomplete], and every later call that needs the file returns it. If the
// last fsync failed, nobody knows what the disk holds, and the batch may be there when
// the ledger is opened again.
func (l *Ledger) Accept(batch []run.Result, rejected uint64, at run.StreamPosition) ([]Verdict, error) {
	for i := range batch {
		switch r := &batch[i]; {
		case r.Task >= l.header.Manifest.Tasks:
			return nil, fmt.Errorf("the ledger %s: a result of task %d, of a run of %d tasks", l.path, r.Task, l.header.Manifest.Tasks)
		case r.Sealed != nil && r.Sealed.Key != r.Key:
			return nil, fmt.Errorf("the ledger %s: a result of task %d by key %.80q that key %.80q signed", l.path, r.Task, r.Key, r.Sealed.Key)
		}
	}
	at.Created = canonicalTime(at.Created)
	if len(batch) == 0 && rejected == 0 && at == l.progress.Position && !l.isWallDue() && l.failed.get() == nil {
		return nil, nil
	}
	verdicts := make([]Verdict, len(batch))
	err := l.change(func(c *change) (err error) {
		for i := range batch {
			if verdicts[i], err = c.add(batch[i]); err != nil {
				return err
			}
		}
		c.progress.Rejected += rejected
		c.progress.Position = at
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, verdict := range verdicts {
		if verdict != Duplicate && verdict != Refused {
			l.voters.note(&batch[i])
		}
	}
	return verdicts, nil
}

// acceptedOf returns the accepted one of the results of a task, or nil.
func (l *Ledger) acceptedOf(all []stored) *run.Result {
	if len(all) == 0 {
		return nil
	}
	if !isDisputed(all) {
		return &all[0].Result
	}
	return l.outcomeOf(all).accepted
}

// Result returns the accepted result of a task, and whether there is one. It reads the
// file; a damaged record is a [DamagedError].
func (l *Ledger) Result(task uint64) (run.Result, bool, error) {
	all, err := l.Supporters(task)
	if len(all) == 0 {
		return run.Result{}, false, err
	}
	return all[0], true, nil
}

// Supporters returns the accepted result of a task, and after it one result of each other voter
// that agrees with it; nothing if the task has no accepted result. It reads the file; a damaged
// record is a [DamagedError].
func (l *Ledger) Supporters(task uint64) (agreeing []run.Result, err error) {
	if !l.Has(task) {
		return nil, l.failed.get()
	}
	err = l.view(func(tx *bbolt.Tx) error {
		all, err := l.resultsOf(tx, task)
		if err != nil {
			return err
		}
		accepted := l.acceptedOf(all)
		if accepted == nil {
			return l.damaged(fmt.Errorf("the result of task %d is missing", task))
		}
		agreeing = append(agreeing, *accepted)
		for i := range all {
			if r := &all[i]; !r.revoked && r.Count == accepted.Count && r.Result != *accepted {
				agreeing = append(agreeing, r.Result)
			}
		}
		return nil
	})
	return agreeing, err
}

// Results appends the accepted results of the tasks from first on to those given, up to its
// capacity and before the first task without one. It looks up each task in the file by its
// key; a damaged record is a [DamagedError].
func (l *Ledger) Results(first uint64, results []run.Result) ([]run.Result, error) {
	err := l.view(func(tx *bbolt.Tx) error {
		cursor := l.seek(tx, first)
		for task := first; len(results) < cap(results) && l.Has(task); task++ {
			cursor.seek(task) // From the root, whatever is there before.
			_, all, err := cursor.next(task + 1)
			if err != nil {
				return err
			}
			accepted := l.acceptedOf(all)
			if accepted == nil {
				return l.damaged(fmt.Errorf("the result of task %d is missing", task))
			}
			results = append(results, *accepted)
		}
		return nil
	})
	return results, err
}

// readBatch is how many results Range reads before it yields them: the caller's code must
// not run inside recoverBolt.
const readBatch = 256

// Range reads the accepted results of tasks from first on and before end from the file, in order of task. It ends at
// the first error: a [DamagedError] if a record is damaged or surplus. It does not notice missing results. The ledger
// can't be written before the iteration has ended.
func (l *Ledger) Range(first, end uint64) iter.Seq2[run.Result, error] {
	return func(yield func(run.Result, error) bool) {
		l.reading.Add(1)
		defer l.reading.Add(-1)
		batch := make([]run.Result, 0, readBatch)
		for next := first; ; {
			var err error
			batch, err = l.readResults(batch[:0], next, end)
			for _, r := range batch {
				if !yield(r, nil) {
					return
				}
				next = r.Task + 1
			}
			if err != nil {
				yield(run.Result{}, err)
			}
			if err != nil || len(batch) == 0 {
				return
			}
		}
	}
}

// readResults appends the results from task first on and before task end to batch, up to its
// capacity; on an error, those before the error.
func (l *Ledger) readResults(batch []run.Result, first, end uint64) ([]run.Result, error) {
	err := l.view(func(tx *bbolt.Tx) error {
		for cursor := l.seek(tx, first); len(batch) < cap(batch); {
			task, all, err := cursor.next(end)
			if err != nil || task == noTask {
				return err
			}
			switch accepted := l.acceptedOf(all); {
			case (accepted != nil) != l.Has(task):
				return l.damaged(fmt.Errorf("the results of task %d are not those that were there before", task))
			case accepted != nil:
				batch = append(batch, *accepted)
			}
		}
		return nil
	})
	return batch, err
}
