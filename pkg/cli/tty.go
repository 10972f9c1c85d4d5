package cli

import (
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/mattn/go-isatty"
)

// logSwitch writes the lines of the log to stderr, or to a writer that shows them together
// with something else there.
type logSwitch struct {
	mu         sync.Mutex
	stderr     io.Writer
	redirected io.Writer // nil: to stderr
}

func (s *logSwitch) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.redirected != nil {
		return s.redirected.Write(line)
	}
	return s.stderr.Write(line)
}

// RedirectLog sends the log, a whole line per call, to a writer other than stderr; nil
// sends it to stderr again.
func (a *App) RedirectLog(to io.Writer) {
	a.logSwitch.mu.Lock()
	defer a.logSwitch.mu.Unlock()
	a.logSwitch.redirected = to
}

// TTY returns the terminal on stderr for a live display. It returns nil where stderr is not
// a terminal or one that can't move its cursor, where the log is JSON, or with
// --no-progress.
func (a *App) TTY() *os.File {
	if !isTerminal(a.logSwitch.stderr) || !a.isForPeople() || a.NoProgress || isDumb() {
		return nil
	}
	f, _ := a.logSwitch.stderr.(*os.File)
	return f
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// isDumb reports whether the terminal says that it understands no control sequences. The Windows
// console says nothing, and does.
func isDumb() bool {
	kind := os.Getenv("TERM")
	return kind == "dumb" || kind == "" && runtime.GOOS != "windows"
}

// Colors reports whether what goes to stderr has colors: as --color says, and with auto where
// the environment and the terminal allow it. See https://no-color.org and
// https://bixense.com/clicolors: NO_COLOR precedes CLICOLOR_FORCE, which precedes the rest.
func (a *App) Colors() bool {
	force := os.Getenv("CLICOLOR_FORCE")
	switch {
	case a.color != "auto":
		return a.color == "always"
	case os.Getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return isTerminal(a.logSwitch.stderr) && !isDumb() && os.Getenv("CLICOLOR") != "0"
}
