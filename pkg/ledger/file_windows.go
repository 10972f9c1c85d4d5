package ledger

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock locks a file, shared or exclusively, until it is closed. It returns errLocked if
// others hold the lock.
func lock(file *os.File, exclusive bool) error {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(file.Fd()), how, 0, 1, 0, lockRange())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

// unlock releases the lock of a file.
func unlock(file *os.File) error {
	return windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, lockRange())
}

// lockRange is one byte far beyond the end of the file, next to the one that bbolt
// locks.
func lockRange() *windows.Overlapped {
	return &windows.Overlapped{Offset: 1<<32 - 2, OffsetHigh: 1<<32 - 1}
}

// openNew opens or creates the file at path, which will be renamed to name while it is
// open: that needs a sharing mode for which os.OpenFile does not ask. The os.File has
// the name from the start.
func openNew(path, name string) (*os.File, error) {
	const (
		access = windows.GENERIC_READ | windows.GENERIC_WRITE
		share  = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	)
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	handle, err := windows.CreateFile(p, access, share, nil, windows.OPEN_ALWAYS, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), name), nil
}

// syncFolder does nothing: Windows persists the names of files itself.
func syncFolder(string) error { return nil }
