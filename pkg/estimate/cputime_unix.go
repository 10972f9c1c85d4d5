//go:build unix

package estimate

import (
	"syscall"
	"time"
)

// processTime returns the CPU time of this process, from getrusage(2).
func processTime() (ran time.Duration, known bool) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}
