//go:build unix

package durable

import (
	"errors"
	"os"
	"syscall"
)

// openAtOnce makes the opening of a pipe return at once.
const openAtOnce = syscall.O_NONBLOCK

// SyncFolder waits until the names of a folder's files are on disk.
func SyncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Lock locks a file, shared or exclusively, until the file is closed. It returns [ErrLocked] if
// another lock of the file excludes this one.
func Lock(file *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		switch err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}
