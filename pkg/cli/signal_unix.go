//go:build unix

package cli

import (
	"os"
	"syscall"
)

// endings are the signals that end a program in an orderly way, besides SIGHUP. Batch systems
// announce the end of a job with SIGUSR1, SIGUSR2 or SIGXCPU, some time before they kill it.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2,
	syscall.SIGXCPU}
