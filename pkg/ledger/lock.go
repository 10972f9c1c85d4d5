package ledger

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"nqueens/pkg/durable"
)

// How long a writer waits for readers, which finish soon, and how often it tries.
const (
	readersTimeout   = 2 * time.Second
	lockPollInterval = 20 * time.Millisecond
)

// acquire locks the file: shared for a reader, exclusive for a writer, which waits for
// readers until ctx ends or readersTimeout has passed.
func (l *Ledger) acquire(ctx context.Context) error {
	folder := filepath.Dir(l.path)
	poll := time.NewTicker(lockPollInterval)
	defer poll.Stop()
	for start := time.Now(); ; {
		err := durable.Lock(l.file, l.mode == readWrite)
		if err == nil && l.mode == readWrite {
			l.claimLockInfo()
		}
		if !errors.Is(err, durable.ErrLocked) {
			return l.wrapIO(err)
		}
		writer, err := l.heldByWriter()
		switch {
		case err != nil:
			return l.wrapIO(err)
		case writer:
			return &LockedError{Folder: folder, Holder: readLockInfo(folder)}
		case time.Since(start) >= readersTimeout:
			return &LockedError{Folder: folder, Readers: true}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-poll.C:
		}
	}
}

// CheckWriter returns a [LockedError] if a process has the ledger in a folder open for writing.
func CheckWriter(folder string) error {
	l, err := openLocked(context.Background(), filepath.Join(folder, File), readOnly)
	if err != nil {
		return err
	}
	return l.release()
}

// heldByWriter reports whether the lock that others hold is exclusive: it is if a shared
// one can't be had.
func (l *Ledger) heldByWriter() (bool, error) {
	err := durable.Lock(l.file, false)
	if errors.Is(err, durable.ErrLocked) {
		return true, nil
	}
	return false, cmp.Or(err, durable.Unlock(l.file))
}
