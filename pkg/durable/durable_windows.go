package durable

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// createExclusive creates a file at path, which is to have a name later, while it is open: that needs a
// sharing mode for which [os.OpenFile] does not ask. The [os.File] has the name from the start.
func createExclusive(path, name string, _ fs.FileMode) (*os.File, error) {
	const (
		access = windows.GENERIC_READ | windows.GENERIC_WRITE
		share  = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	)
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	handle, err := windows.CreateFile(p, access, share, nil, windows.CREATE_NEW, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	return os.NewFile(uintptr(handle), name), nil
}

// SyncFolder does nothing: Windows persists the names of files itself.
func SyncFolder(string) error { return nil }

// Lock locks a file, shared or exclusively, until it is closed. It returns [ErrLocked] if others hold the lock.
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

// lockRange is one byte far beyond the end of the file.
func lockRange() *windows.Overlapped {
	return &windows.Overlapped{Offset: 1<<32 - 2, OffsetHigh: 1<<32 - 1}
}
