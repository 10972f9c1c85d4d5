//go:build unix

package keyring

import (
	"errors"
	"os"
	"syscall"
)

// lockFile waits until no other process locks the file, and locks it until it is closed.
func lockFile(file *os.File) error {
	for {
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
