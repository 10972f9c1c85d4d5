package cli

import (
	"io"
	"maps"
	"os"
	"runtime"
	"sync"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// logSwitch writes the lines of the log to stderr, or to a writer that shows them together with something else there.
type logSwitch struct {
	mu sync.Mutex
	to io.Writer
}

func (s *logSwitch) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(line)
}

// RedirectLog sends the log, a whole line a call, to a writer other than stderr; nil sends it to stderr again.
func (a *App) RedirectLog(to io.Writer) {
	if to == nil {
		to = a.stderr
	}
	a.out.mu.Lock()
	defer a.out.mu.Unlock()
	a.out.to = to
}

func (a *App) openLog(stderr io.Writer) {
	level, _ := zerolog.ParseLevel(a.level) // the flag takes levels only
	if a.quiet {
		level, a.NoProgress = zerolog.ErrorLevel, true
	}
	a.stderr, a.out.to = stderr, stderr
	var out io.Writer = a.out
	if a.isForPeople() {
		out = forPeople(out, a.Colors(), level == zerolog.DebugLevel)
	}
	a.Log = zerolog.New(out).Level(level).With().Timestamp().Logger()
}

// isForPeople reports whether the log is for people.
func (a *App) isForPeople() bool { return a.format != "json" }

// Tell writes lines as they are where the log is for people, unless it has no lines of level info. It reports whether it
// did.
func (a *App) Tell(lines string) bool {
	if !a.isForPeople() || a.Log.GetLevel() > zerolog.InfoLevel {
		return false
	}
	_, _ = io.WriteString(a.out, lines) // as the log: it has nobody to tell of an error
	return true
}

// timeFormat is the time of a line for people: date, time and zone, since a run takes days and its log is read elsewhere.
const timeFormat = "2006-01-02 15:04:05 -07:00"

// forPeople writes log lines for people: of a line with [humanize.LogField] that text, otherwise the message and all fields.
// It sanitizes the message, which may repeat what came over the network; zerolog quotes the values of fields.
func forPeople(w io.Writer, color, fieldsToo bool) io.Writer {
	out := zerolog.ConsoleWriter{Out: w, TimeFormat: timeFormat, NoColor: !color}
	out.FormatPrepare = func(fields map[string]any) error {
		if text, ok := fields[humanize.LogField].(string); ok {
			delete(fields, humanize.LogField)
			fields[zerolog.MessageFieldName] = text
			maps.DeleteFunc(fields, func(name string, _ any) bool {
				return !fieldsToo && name != zerolog.MessageFieldName && name != zerolog.LevelFieldName && name != zerolog.TimestampFieldName
			})
		}
		if message, ok := fields[zerolog.MessageFieldName].(string); ok {
			fields[zerolog.MessageFieldName] = queens.Sanitize(message)
		}
		return nil
	}
	return out
}

// TTY returns the terminal on stderr for a live display. It returns nil if stderr is not a terminal, or if the
// terminal can't move its cursor; also with a log in JSON and with --no-progress.
func (a *App) TTY() *os.File {
	if !a.isForPeople() || a.NoProgress {
		return nil
	}
	return a.terminal()
}

// terminal returns stderr if it is a terminal that understands control sequences, or nil. The environment says so, but on
// Windows it says nothing, and the console understands them.
func (a *App) terminal() *os.File {
	f, ok := a.stderr.(*os.File)
	kind := os.Getenv("TERM")
	if !ok || !isatty.IsTerminal(f.Fd()) || kind == "dumb" || kind == "" && runtime.GOOS != "windows" {
		return nil
	}
	return f
}

// Colors reports whether what goes to stderr has colors: as --color says, and with auto where the terminal shows them and
// NO_COLOR is not set; see https://no-color.org.
func (a *App) Colors() bool {
	if a.color != "auto" {
		return a.color == "always"
	}
	return os.Getenv("NO_COLOR") == "" && a.terminal() != nil
}
