package cli

import (
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// logSwitch writes to the writer that it holds.
type logSwitch struct{ atomic.Pointer[io.Writer] }

func (s *logSwitch) Write(line []byte) (int, error) { return (*s.Load()).Write(line) }

// RedirectLog sends the log to a writer other than stderr, one whole line in each call. With nil,
// the log goes to stderr again.
func (a *App) RedirectLog(to io.Writer) {
	if to == nil {
		to = a.stderr
	}
	a.out.Store(&to)
}

func (a *App) openLog(stderr io.Writer) {
	level, _ := zerolog.ParseLevel(a.level) // the flag takes levels only
	if a.quiet {
		level, a.NoProgress = zerolog.ErrorLevel, true
	}
	a.stderr = stderr
	a.RedirectLog(nil)
	var out io.Writer = &a.out
	if a.isForPeople() {
		out = forPeople(out, a.Colors(), level == zerolog.DebugLevel)
	}
	a.Log = zerolog.New(out).Level(level).With().Timestamp().Logger()
}

// isForPeople reports whether the log is for people.
func (a *App) isForPeople() bool { return a.format != "json" }

// Tell writes lines as they are, if the log is for people and logs the level info. It reports
// whether it wrote them.
func (a *App) Tell(lines string) bool {
	if !a.isForPeople() || a.Log.GetLevel() > zerolog.InfoLevel {
		return false
	}
	_, _ = io.WriteString(&a.out, lines) // like the log: nobody learns of an error
	return true
}

// forPeople returns a writer that turns the lines of the log into lines for people. If a line has
// the field [humanize.LogField], its text takes the place of the message and, unless fieldsToo is
// set, of all other fields. The message is sanitized, since it may repeat what came over the
// network; zerolog quotes the values of fields. A line has the date and the zone, since a run may
// take days and its log may be read elsewhere.
func forPeople(w io.Writer, color, fieldsToo bool) io.Writer {
	out := zerolog.ConsoleWriter{Out: w, TimeFormat: "2006-01-02 15:04:05 -07:00", NoColor: !color}
	always := []string{zerolog.MessageFieldName, zerolog.LevelFieldName, zerolog.TimestampFieldName}
	out.FormatPrepare = func(fields map[string]any) error {
		if text, ok := fields[humanize.LogField].(string); ok {
			delete(fields, humanize.LogField)
			fields[zerolog.MessageFieldName] = text
			maps.DeleteFunc(fields, func(name string, _ any) bool {
				return !fieldsToo && !slices.Contains(always, name)
			})
		}
		if message, ok := fields[zerolog.MessageFieldName].(string); ok {
			fields[zerolog.MessageFieldName] = queens.Sanitize(message)
		}
		return nil
	}
	return out
}

// TTY returns the terminal on stderr for a live display. It returns nil if stderr is not a terminal
// or the terminal can't move its cursor. It also returns nil with a log in JSON and with
// --no-progress.
func (a *App) TTY() *os.File {
	if !a.isForPeople() || a.NoProgress {
		return nil
	}
	return a.terminal()
}

// terminal returns stderr if it is a terminal that understands control sequences, or nil. A
// terminal understands them unless the variable TERM is "dumb" or, on systems other than Windows,
// empty.
func (a *App) terminal() *os.File {
	f, ok := a.stderr.(*os.File)
	kind := os.Getenv("TERM")
	if !ok || !term.IsTerminal(int(f.Fd())) || kind == "dumb" ||
		kind == "" && runtime.GOOS != "windows" {
		return nil
	}
	return f
}

// Colors reports whether text on stderr has colors. With --color auto, the text has them if stderr
// is a terminal that understands control sequences, and NO_COLOR is empty: see
// https://no-color.org.
func (a *App) Colors() bool {
	if a.color != "auto" {
		return a.color == "always"
	}
	return os.Getenv("NO_COLOR") == "" && a.terminal() != nil
}
