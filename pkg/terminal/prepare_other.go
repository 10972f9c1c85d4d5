//go:build !windows

package terminal

import (
	"os"

	"golang.org/x/term"
)

// prepare reports whether out is a terminal; elsewhere than on Windows that is all it
// takes.
func prepare(out *os.File) bool { return term.IsTerminal(int(out.Fd())) }
