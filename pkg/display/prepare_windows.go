package display

import (
	"os"

	"golang.org/x/sys/windows"
)

// prepare has a console obey escape sequences, and reports whether it does.
func prepare(out *os.File) bool {
	console := windows.Handle(out.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// foreground reports whether the terminal is this process's to draw on: consoles have no
// background.
func foreground(*os.File) bool { return true }
