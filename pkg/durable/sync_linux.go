package durable

import (
	"errors"
	"os"
	"syscall"
)

// SyncData waits until the contents and the size of a file are on disk. It does not wait for the
// timestamps of the file.
func SyncData(file *os.File) error {
	for {
		err := syscall.Fdatasync(int(file.Fd()))
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return &os.PathError{Op: "sync", Path: file.Name(), Err: err}
		}
	}
}
