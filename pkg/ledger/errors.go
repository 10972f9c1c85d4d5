package ledger

import (
	"errors"
	"fmt"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"nqueens/pkg/queens"
)

// LockedError says that another process has the ledger open, or this one twice.
type LockedError struct {
	Folder string
	// Readers is set where those who have it open only read it.
	Readers bool
	// LockInfo is the writer; zero where it is not known, or where Readers is set.
	Holder LockInfo
}

// Error names the holder.
func (e *LockedError) Error() string {
	switch h := &e.Holder; {
	case e.Readers:
		return fmt.Sprintf("the ledger in %s is being read by another process (verify, ledger or runs): try again in a moment", e.Folder)
	case *h == (LockInfo{}):
		return fmt.Sprintf("the ledger in %s is in use by another process: wait until it has ended", e.Folder)
	case h.Run == "":
		return fmt.Sprintf("the ledger in %s is being opened by process %d on %s since %s: wait until it has ended, or end it",
			e.Folder, h.PID, h.Host, h.Since.Format(time.RFC3339))
	default:
		return fmt.Sprintf("the ledger in %s is in use for run %s by process %d on %s since %s: wait until it has ended, or end it",
			e.Folder, h.Run, h.PID, h.Host, h.Since.Format(time.RFC3339))
	}
}

// DamagedError says that a file is not what was written: cut short, bits flipped,
// overwritten. It wraps [queens.ErrIncomplete].
type DamagedError struct {
	File string
	Err  error
}

// Error says what is wrong and what to do.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the ledger %s is damaged: %v: put a sound copy in its place, or move it away and count again", e.File, e.Err)
}

// Unwrap returns the cause, and [queens.ErrIncomplete].
func (e *DamagedError) Unwrap() []error { return []error{e.Err, queens.ErrIncomplete} }

// diskError says that the file could not be read or written. The run can be resumed.
type diskError struct {
	file string
	err  error
}

func (e *diskError) Error() string {
	advice := "put that right"
	if errors.Is(e.err, syscall.ENOSPC) {
		advice = "make room"
	}
	return fmt.Sprintf("the ledger %s: %v: %s and resume, nothing that was accepted is lost", e.file, e.err, advice)
}

func (e *diskError) Unwrap() []error { return []error{e.err, queens.ErrIncomplete} }

// wrapIO takes an error that is no damage for one of the disk.
func wrapIO(path string, err error) error {
	var damaged *DamagedError
	if err == nil || errors.As(err, &damaged) {
		return err
	}
	return &diskError{file: path, err: err}
}

// update writes in one transaction, which is on disk when update returns nil.
func (l *Ledger) update(f func(*bbolt.Tx) error) error {
	switch {
	case l.failed != nil:
		return l.failed
	case l.mode != readWrite:
		return fmt.Errorf("the ledger %s was opened for reading", l.path)
	case l.reading > 0:
		return l.errReading()
	}
	l.failed = wrapIO(l.path, l.recoverBolt(func() error { return l.db.Update(f) }))
	return l.failed
}

// view reads in one transaction.
func (l *Ledger) view(f func(*bbolt.Tx) error) error {
	if l.failed != nil {
		return l.failed
	}
	return l.recoverBolt(func() error { return l.db.View(f) })
}

// recoverBolt calls f, which calls bbolt. A panic of bbolt, and a fault of the memory that
// it maps the file to, become a DamagedError, and the file is not used any more.
func (l *Ledger) recoverBolt(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			l.broken = true
			l.failed = l.damaged(fmt.Errorf("it can't be read as it stands: %v", p))
			err = l.failed
		}
	}()
	return f()
}

func (l *Ledger) errReading() error { return fmt.Errorf("the ledger %s is being read", l.path) }

func (l *Ledger) damaged(err error) error { return &DamagedError{File: l.path, Err: err} }
