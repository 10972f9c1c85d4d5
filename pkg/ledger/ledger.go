// Package ledger stores the accounts of a run on disk: for each task the one accepted
// result, and beside it the results that disagreed or were rejected. A result that it
// calls accepted has been fsynced, and it returns nothing whose checksum is wrong. It
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
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"os"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Version is the version of the file format. A file of another version is refused.
const Version = 5

// Header is what a ledger is created with. It never changes.
type Header struct {
	Run      string          `json:"run"`
	Created  time.Time       `json:"created"`
	Manifest queens.Manifest `json:"manifest"`
	Trust    Trust           `json:"trust"`
}

// Rejection is a result that can't belong to the run, and the reason.
type Rejection struct {
	Result queens.Result `json:"result"`
	Reason string        `json:"reason"`
}

// maxRejections bounds the rejected results that are stored: the first ones.
const maxRejections = 10_000

// Ledger is the accounts of one run. Only one goroutine at a time may use it; but several
// may call Has, Result, Results, Range and All while none calls another method. It holds in memory a byte and a bit per task, the names of workers and kernels, the keys, the first
// chunk results of each key, and the disputes.
type Ledger struct {
	path     string
	header   Header
	file     *os.File // Closing it releases the lock. db.Close does that too.
	db       *bbolt.DB
	mode     openMode
	lockInfo LockInfo // Zero for a reader, and once the ledger is closed.

	accepted     bitmap
	support      []uint8 // By task, see setSupport.
	figures      Figures
	reports      uint64 // Signed chunk results in the file.
	chunks       map[string]uint64
	early        early
	quarantines  map[string]quarantine
	voiding      map[string]struct{} // Their keys with results that still count.
	strings      stringTable
	disputes     []Dispute
	disputed     map[uint64]int // Task to index in disputes.
	voteCount    uint64         // Votes in the file, of all disputes.
	position     run.StreamPosition
	rejected     uint64
	state        run.State
	damagedTasks []uint64
	lost         uint64
	missed       uint64 // See SetMissed.
	voters       voterSet
	alone        map[uint64]bool // See SetAlone.
	times        times

	reading  atomic.Int64        // Iterations of Range in progress.
	onCommit func(time.Duration) // Nil unless set by OnCommit.
	failed   failure
}

// Header returns what the ledger was created with.
func (l *Ledger) Header() Header { return l.header }

// OnCommit has a function called with the time that each later transaction takes to get to the disk,
// once it is there. The function must not block. Call OnCommit before other goroutines use the ledger.
func (l *Ledger) OnCommit(each func(time.Duration)) { l.onCommit = each }

// Position returns the place in the stream of results up to which all are stored.
func (l *Ledger) Position() run.StreamPosition { return l.position }

// Has reports whether a task has an accepted result.
func (l *Ledger) Has(task uint64) bool {
	return task < l.header.Manifest.Tasks && l.accepted.has(task)
}

// Len returns the number of tasks with an accepted result.
func (l *Ledger) Len() uint64 { return l.accepted.count }

// Lost returns how many times a task has lost its accepted result, in the life of the ledger: because its
// record was damaged, or only quarantined keys had counted it. The sum of Len and Lost never falls.
func (l *Ledger) Lost() uint64 { return l.lost }

// Rejected returns the number of rejected results, stored or not.
func (l *Ledger) Rejected() uint64 { return l.rejected }

// Damaged returns the tasks whose records failed their checksum when the ledger was
// opened. They count as not accepted. [Open] has removed the records, and restored
// those of disputed tasks from the votes; [OpenTolerant] has skipped them all. A record
// whose key was hit is listed under the task number that it had then.
func (l *Ledger) Damaged() []uint64 { return l.damagedTasks }

// State returns the state of the run: [run.Running] at first.
func (l *Ledger) State() run.State { return l.state }

// SetState stores the state of the run, with its wall time and history; they are on disk when SetState returns nil.
// Errors are those of [Ledger.Accept].
func (l *Ledger) SetState(s run.State) error {
	if s == l.state && l.times.isStored() && l.failed.get() == nil {
		return nil
	}
	err := l.update(func(tx *bbolt.Tx) error {
		return cmp.Or(putJSON(tx, progressBucket, stateKey, s), l.times.put(tx, true))
	})
	if err == nil {
		l.state = s
	}
	return err
}

// Accept stores a batch of results, in order, rejected ones as evidence, and the place
// in the stream of results up to which all are stored. It returns a verdict for each
// result of the batch. The caller has checked that each belongs to the run and counted
// the right task, and that its signed chunk result, if it has one, says the same and is signed.
// Each signed chunk result is stored once, if anything of it is; results share it by the pointer.
//
// All of it is one transaction, and on disk when Accept returns nil. On an error
// nothing is accepted. A task that the run does not have, or a key that did not sign, is the
// caller's mistake and changes nothing. Any other error is one of the disk or the file: it wraps
// [queens.ErrIncomplete], and every later call that needs the file returns it. If the
// last fsync failed, nobody knows what the disk holds, and the batch may be there when
// the ledger is opened again.
func (l *Ledger) Accept(batch []queens.Result, rejected []Rejection, at run.StreamPosition) ([]Verdict, error) {
	for i := range batch {
		switch r := &batch[i]; {
		case r.Task >= l.header.Manifest.Tasks:
			return nil, fmt.Errorf("the ledger %s: a result of task %d, of a run of %d tasks", l.path, r.Task, l.header.Manifest.Tasks)
		case r.Sealed != nil && r.Sealed.Key != r.Key:
			return nil, fmt.Errorf("the ledger %s: a result of task %d by key %.80q that key %.80q signed", l.path, r.Task, r.Key, r.Sealed.Key)
		}
	}
	at.Created = canonicalTime(at.Created)
	if len(batch) == 0 && len(rejected) == 0 && at == l.position && !l.times.isDue() && l.failed.get() == nil {
		return nil, nil
	}
	t := newAcceptTx(l)
	verdicts := make([]Verdict, len(batch))
	err := l.update(func(tx *bbolt.Tx) (err error) {
		t.begin(tx)
		for i := range batch {
			if verdicts[i], err = t.add(batch[i]); err != nil {
				return err
			}
		}
		return cmp.Or(t.finish(rejected, at), l.times.put(tx, false))
	})
	if err != nil {
		t.rollback()
		return nil, err
	}
	t.commit()
	for i, verdict := range verdicts {
		if verdict != Duplicate && verdict != Refused {
			l.voters.note(&batch[i])
		}
	}
	l.position = at
	return verdicts, nil
}

// Result returns the accepted result of a task, and whether there is one. It reads the
// file; a damaged record is a [DamagedError].
func (l *Ledger) Result(task uint64) (queens.Result, bool, error) {
	if !l.Has(task) {
		return queens.Result{}, false, l.failed.get()
	}
	var r queens.Result
	err := l.view(func(tx *bbolt.Tx) (err error) {
		key := key64(task)
		r, err = l.decodeResult(key, tx.Bucket(resultsBucket).Get(key))
		return err
	})
	return r, err == nil, err
}

// Results appends the accepted results of the tasks from first on to those given, up to its
// capacity and before the first task without one. It looks up each task in the file by its
// key; a damaged record is a [DamagedError].
func (l *Ledger) Results(first uint64, results []queens.Result) ([]queens.Result, error) {
	err := l.view(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(resultsBucket).Cursor()
		key := make([]byte, 8)
		for task := first; len(results) < cap(results) && l.Has(task); task++ {
			binary.BigEndian.PutUint64(key, task)
			found, record := cursor.Seek(key) // from the root, but without a new cursor
			if !bytes.Equal(found, key) {
				record = nil
			}
			r, err := l.decodeResult(key, record)
			if err != nil {
				return err
			}
			results = append(results, r)
		}
		return nil
	})
	return results, err
}

// readBatch is how many results Range reads before it yields them: the caller's code must
// not run inside recoverBolt.
const readBatch = 256

// All reads every accepted result from the file, in order of task. It ends at the first
// error: a [DamagedError] if a record is damaged, missing, or surplus. The ledger can't
// be written before the iteration has ended.
func (l *Ledger) All() iter.Seq2[queens.Result, error] {
	return func(yield func(queens.Result, error) bool) {
		var read uint64
		for r, err := range l.Range(0, math.MaxUint64) {
			if !yield(r, err) || err != nil {
				return
			}
			read++
		}
		if read != l.Len() {
			yield(queens.Result{}, l.damaged(fmt.Errorf("it has %d results, and had %d", read, l.Len())))
		}
	}
}

// Range reads what the file has from task first on and before task end, as All does. It does
// not notice missing results.
func (l *Ledger) Range(first, end uint64) iter.Seq2[queens.Result, error] {
	return func(yield func(queens.Result, error) bool) {
		l.reading.Add(1)
		defer l.reading.Add(-1)
		batch := make([]queens.Result, 0, readBatch)
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
				yield(queens.Result{}, err)
			}
			if err != nil || len(batch) == 0 {
				return
			}
		}
	}
}

// readResults appends the results from task first on and before task end to batch, up to its
// capacity; on an error, those before the error.
func (l *Ledger) readResults(batch []queens.Result, first, end uint64) ([]queens.Result, error) {
	last := key64(end)
	err := l.view(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(resultsBucket).Cursor()
		for key, record := cursor.Seek(key64(first)); key != nil && len(batch) < cap(batch); key, record = cursor.Next() {
			if end != math.MaxUint64 && bytes.Compare(key, last) >= 0 {
				break
			}
			r, err := l.decodeResult(key, record)
			if err != nil {
				return err
			}
			if r.Task < first || !l.Has(r.Task) {
				return l.damaged(fmt.Errorf("the result of task %d was not there before", r.Task))
			}
			batch, first = append(batch, r), r.Task+1
		}
		return nil
	})
	return batch, err
}

// Disputes returns the disputes, open and settled, in the order in which they arose. The
// caller must not modify them; later calls of Accept do not either.
func (l *Ledger) Disputes() []Dispute { return l.disputes }

// Dispute returns the dispute about a task, and whether there is one. What holds for
// [Ledger.Disputes] holds for it.
func (l *Ledger) Dispute(task uint64) (Dispute, bool) {
	i, ok := l.disputed[task]
	if !ok {
		return Dispute{}, false
	}
	return l.disputes[i], true
}
