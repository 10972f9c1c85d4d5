package cli

import (
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/mattn/go-isatty"
)

// logSwitch passes the lines of the log on to stderr, or to whoever shows them together with
// something else there.
type logSwitch struct {
	mu         sync.Mutex
	stderr     io.Writer
	redirected io.Writer // nil: to stderr
}

func (r *logSwitch) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.redirected != nil {
		return r.redirected.Write(line)
	}
	return r.stderr.Write(line)
}

// RedirectLog sends the log, a whole line a call, to a writer other than stderr; nil sends it
// to stderr again.
func (a *App) RedirectLog(to io.Writer) {
	a.logSwitch.mu.Lock()
	defer a.logSwitch.mu.Unlock()
	a.logSwitch.redirected = to
}

// TTY returns the terminal on which a live display may be drawn, on stderr, or nil:
// where stderr is no terminal or one that can't move its cursor, where the log is JSON, or
// where the person wants no progress.
func (a *App) TTY() *os.File {
	f, ok := a.logSwitch.stderr.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) || a.format == "json" || a.NoProgress || dumb() {
		return nil
	}
	return f
}

// dumb reports whether the terminal can't move its cursor, as far as it says what it is:
// the console of Windows does not.
func dumb() bool {
	kind := os.Getenv("TERM")
	return kind == "dumb" || kind == "" && runtime.GOOS != "windows"
}

// Colors reports whether colors are welcome; see https://no-color.org.
func Colors() bool { return os.Getenv("NO_COLOR") == "" }
