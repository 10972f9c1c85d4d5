package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// openAtOnce is nothing here: no path in a folder is a pipe.
const openAtOnce = 0

// SyncFolder does nothing, because Windows itself keeps the names of files on disk.
func SyncFolder(string) error { return nil }

// Lock locks a file, shared or exclusively, until the file is closed. It returns [ErrLocked] if
// another lock of the file excludes this one.
func Lock(file *os.File, exclusive bool) error {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(file.Fd()), how, 0, 1, 0, lockRange())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// lockRange returns the range of bytes to lock: one byte, far beyond the end of the file.
func lockRange() *windows.Overlapped {
	return &windows.Overlapped{Offset: 1<<32 - 2, OffsetHigh: 1<<32 - 1}
}
