//go:build !windows

package display

import (
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// prepare reports whether out is a terminal; elsewhere than on Windows that is all it
// takes.
func prepare(out *os.File) bool { return term.IsTerminal(int(out.Fd())) }

// foreground reports whether the terminal is this process's to draw on. A shell gives it to
// another while this one is stopped or in the background.
func foreground(out *os.File) bool {
	group, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // not of this session: there is no shell
}
