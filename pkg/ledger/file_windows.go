package ledger

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock locks a file for as long as it is open, alone or together with other readers,
// and returns errLocked where others have it locked. The lock is on a byte far beyond
// the end of the file, next to the one that bbolt locks.
func lock(file *os.File, alone bool) error {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(file.Fd()), how, 0, 1, 0, place())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

// unlock ends the lock of a file.
func unlock(file *os.File) error {
	return windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, place())
}

func place() *windows.Overlapped {
	return &windows.Overlapped{Offset: 1<<32 - 2, OffsetHigh: 1<<32 - 1}
}

// syncFolder does nothing: Windows keeps the names of files by itself.
func syncFolder(string) error { return nil }
