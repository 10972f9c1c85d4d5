//go:build unix

package main

import (
	"os"
	"syscall"
)

// statusSignals request a log line of progress.
var statusSignals = []os.Signal{syscall.SIGUSR1}
