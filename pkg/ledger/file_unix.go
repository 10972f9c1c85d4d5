//go:build unix

package ledger

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file, shared or exclusively, until it is closed. It returns errLocked if
// others hold the lock. bbolt takes the same lock again, which changes nothing.
func lock(file *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

// unlock releases the lock of a file. Closing the file does not while it is mapped.
func unlock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }

// openNew opens or creates the file at path, which will be renamed to name while it is
// open. The os.File has that name from the start.
func openNew(path, name string) (*os.File, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0o600)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), name), nil
		case !errors.Is(err, syscall.EINTR):
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// syncFolder returns when the names of a folder's files are on disk.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
