//go:build unix

package keyring

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks the file until it is closed. It returns false if another process locks it.
func tryLock(file *os.File) (bool, error) {
	for {
		switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return err == nil, err
		}
	}
}
