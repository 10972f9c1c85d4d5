package cli

import (
	"os"
	"syscall"
)

// endings are the signals that end a program in an orderly way, besides SIGHUP.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM}
