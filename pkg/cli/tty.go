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
	f, ok := a.logSwitch.stderr.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) || a.format == "json" || a.NoProgress || isDumb() {
		return nil
	}
	return f
}

// isDumb reports whether the terminal says that it can't move its cursor. The Windows
// console says nothing, and can.
func isDumb() bool {
	kind := os.Getenv("TERM")
	return kind == "dumb" || kind == "" && runtime.GOOS != "windows"
}

// Colors reports whether colors are wanted; see https://no-color.org.
func Colors() bool { return os.Getenv("NO_COLOR") == "" }
