package display

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableVT makes a console interpret control sequences, and reports whether it does.
func enableVT(out *os.File) bool {
	console := windows.Handle(out.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// isForeground returns true: consoles have no background processes.
func isForeground(*os.File) bool { return true }

// suspensions returns a function that returns false: nobody suspends a process in a console.
func suspensions() func() bool { return func() bool { return false } }
