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
	err := windows.LockFileEx(windows.Handle(file.Fd()), how, 0, 1, 0, lockRange())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

// openNew opens a file, or makes it, that will be renamed while it is open,
// which needs a mode of sharing that os.OpenFile does not ask for. It goes by the name
// that it will have.
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

// unlock ends the lock of a file.
func unlock(file *os.File) error {
	return windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, lockRange())
}

func lockRange() *windows.Overlapped {
	return &windows.Overlapped{Offset: 1<<32 - 2, OffsetHigh: 1<<32 - 1}
}

// syncFolder does nothing: Windows keeps the names of files by itself.
func syncFolder(string) error { return nil }
