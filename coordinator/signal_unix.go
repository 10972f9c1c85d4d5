//go:build unix

package main

import (
	"os"
	"syscall"
)

// statusSignals ask for a line of progress.
var statusSignals = []os.Signal{syscall.SIGUSR1}
