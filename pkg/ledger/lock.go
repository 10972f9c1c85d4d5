package ledger

import (
	"cmp"
	"errors"
	"path/filepath"
	"time"
)

// How long a writer waits for readers, which soon end, and how often it looks.
const (
	readersPatience = 2 * time.Second
	readersRetry    = 20 * time.Millisecond
)

// take locks the file for what the ledger is opened for.
func (l *Ledger) take() error {
	folder := filepath.Dir(l.path)
	for start := time.Now(); ; time.Sleep(readersRetry) {
		err := lock(l.file, l.purpose == toWrite)
		if err == nil && l.purpose == toWrite {
			l.takeHold()
		}
		if !errors.Is(err, errLocked) {
			return diagnose(l.path, err)
		}
		writer, err := l.writerHasIt()
		switch {
		case err != nil:
			return diagnose(l.path, err)
		case writer:
			return &LockedError{Folder: folder, Holder: readHolder(folder)}
		case time.Since(start) >= readersPatience:
			return &LockedError{Folder: folder, Readers: true}
		}
	}
}

// writerHasIt reports whether others who have the file locked do so to write: then it
// can't be locked together with them.
func (l *Ledger) writerHasIt() (bool, error) {
	err := lock(l.file, false)
	if errors.Is(err, errLocked) {
		return true, nil
	}
	return false, cmp.Or(err, unlock(l.file))
}
