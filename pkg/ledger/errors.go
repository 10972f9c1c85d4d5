package ledger

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"nqueens/pkg/run"
)

// LockedError says that another process has the ledger open, or this process twice.
type LockedError struct {
	Folder string
	// Readers says that the ledger is open for reading only.
	Readers bool
	// Holder is the writer; zero if it is not known, or if Readers is set.
	Holder LockInfo
}

// Error names the holder.
func (e *LockedError) Error() string {
	h := &e.Holder
	switch {
	case e.Readers:
		return fmt.Sprintf("the ledger in %s is being read by another process: try again in a moment", e.Folder)
	case *h == (LockInfo{}):
		return fmt.Sprintf("the ledger in %s is in use by another process: wait until it has ended", e.Folder)
	}
	return fmt.Sprintf("the ledger in %s is in use by process %d on %s since %s: wait until it has ended, or end it",
		e.Folder, h.PID, h.Host, h.Since.Format(time.RFC3339))
}

// DamagedError says that a file is not what was written: truncated, overwritten, or
// with flipped bits. It wraps [run.ErrIncomplete].
type DamagedError struct {
	File string
	Err  error
}

// Error says what is wrong and what to do.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the ledger %s is damaged: %v: replace it with an intact copy, or move it away and count again", e.File, e.Err)
}

// Unwrap returns the cause, and [run.ErrIncomplete].
func (e *DamagedError) Unwrap() []error { return []error{e.Err, run.ErrIncomplete} }

func (l *Ledger) damaged(err error) error { return &DamagedError{File: l.path, Err: err} }

func (l *Ledger) errReading() error { return fmt.Errorf("the ledger %s is being read", l.path) }

// wrapIO says of any error except a DamagedError that the file could not be read or
// written, and that the run can be resumed.
func (l *Ledger) wrapIO(err error) error {
	if err == nil || errors.As(err, new(*DamagedError)) {
		return err
	}
	advice := "correct that"
	if errors.Is(err, syscall.ENOSPC) {
		advice = "make room"
	}
	return fmt.Errorf("%w: the ledger %s: %w: %s and resume; no accepted result is lost", run.ErrIncomplete, l.path, err, advice)
}
