//go:build unix

package estimate

import (
	"syscall"
	"time"
)

// processTime returns the time for which the threads of this process have run so far, all
// together, and whether that is known.
func processTime() (ran time.Duration, known bool) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}
