package httpserver

import (
	"errors"
	"fmt"
	"syscall"
)

// ListenError says why nobody can listen on a host:port, and what to do if another process does.
func ListenError(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen on %s: another process uses this address: stop that process, or choose another port, "+
			"such as 0 for a free one: %w", address, syscall.EADDRINUSE)
	}
	return fmt.Errorf("listen on %s: %w", address, err)
}
