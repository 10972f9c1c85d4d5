//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// createExclusive creates a file at path, which is to have a name later. The [os.File] has that name from the start.
func createExclusive(path, name string, mode fs.FileMode) (*os.File, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_EXCL|syscall.O_CLOEXEC, uint32(mode.Perm()))
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), name), nil
		case !errors.Is(err, syscall.EINTR):
			return nil, &fs.PathError{Op: "create", Path: name, Err: err}
		}
	}
}

// SyncFolder returns when the names of a folder's files are on disk.
func SyncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Lock locks a file, shared or exclusively, until it is closed. It returns [ErrLocked] if others hold the lock.
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
