//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for no process of its own
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
