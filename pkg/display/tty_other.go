//go:build !windows

package display

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// enableVT reports whether out is a terminal, which interprets control sequences from the start.
func enableVT(out *os.File) bool { return term.IsTerminal(int(out.Fd())) }

// isForeground reports whether this process is in the foreground of the terminal, and not suspended
// or in the background.
func isForeground(out *os.File) bool {
	group, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // an error means that there is no shell
}

// suspensions returns a function that reports whether this process was suspended since the last
// call.
func suspensions() func() bool {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	return func() bool {
		select {
		case <-continued:
			return true
		default:
			return false
		}
	}
}
