// Package cli is what the two commands share at their edge: the log and the flags
// that set it up, flags from the environment, what is wrong with a command line and
// what may have been meant, help, completions, signals, and exit codes. It knows
// nothing of counting.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"nqueens/pkg/queens"
)

// App is one command with its subcommands, and what they share.
type App struct {
	// Log is ready when a subcommand runs. It goes to stderr.
	Log zerolog.Logger
	// NoProgress says that the person wants no progress lines.
	NoProgress bool

	root          *cobra.Command
	logSwitch     *logSwitch
	level, format string
	started       bool // a subcommand has begun: its arguments were understood
}

// New adds to the root command what all commands have: flags for the log, the
// environment behind every flag, and the version.
func New(root *cobra.Command) *App {
	a := &App{root: root, logSwitch: new(logSwitch), Log: zerolog.Nop()}
	root.Version = versionString()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	if !root.Runnable() {
		root.Args = NoArguments
		root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	customizeHelp(root)
	root.AddCommand(completionCommand(root))
	flags := root.PersistentFlags()
	flags.Var(NewEnum(&a.level, "info", "debug", "info", "warn", "error"), "log-level", "least level to log")
	flags.Var(NewEnum(&a.format, "auto", "auto", "console", "json"), "log-format", "how to log; auto is console on a terminal, and else json")
	flags.BoolVar(&a.NoProgress, "no-progress", false, "print no progress")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Name() == cobra.ShellCompRequestCmd {
			return nil // it is about another command
		}
		if err := fromEnvironment(cmd.Flags()); err != nil {
			return err
		}
		if err := a.openLog(cmd.ErrOrStderr()); err != nil {
			return err
		}
		a.started = true
		return nil
	}
	return a
}

func (a *App) openLog(stderr io.Writer) error {
	level, err := zerolog.ParseLevel(a.level)
	if err != nil {
		return Usagef("--log-level: %v", err)
	}
	a.logSwitch.stderr = stderr
	var out io.Writer = a.logSwitch
	f, isFile := stderr.(*os.File)
	onTerminal := isFile && isatty.IsTerminal(f.Fd())
	if a.format == "console" || a.format == "auto" && onTerminal {
		out = console(out, onTerminal && Colors())
	}
	a.Log = zerolog.New(out).Level(level).With().Timestamp().Logger()
	return nil
}

// SecondsSuffix ends the names of fields with a time in seconds, for programs that read
// the log. People have the same time in a field without it.
const SecondsSuffix = "_s"

// console writes log lines for people. The values of fields are quoted where they have
// anything but ASCII; the message is not, and may repeat what came over the network.
func console(w io.Writer, color bool) io.Writer {
	out := zerolog.ConsoleWriter{
		Out: w, TimeFormat: time.TimeOnly, NoColor: !color,
		// What people look for first; the rest follows in the order of the alphabet.
		FieldsOrder: []string{"percent", "done", "tasks", "eta", "elapsed", "total"},
	}
	out.FormatPrepare = func(fields map[string]any) error {
		maps.DeleteFunc(fields, func(name string, _ any) bool { return strings.HasSuffix(name, SecondsSuffix) })
		if message, ok := fields[zerolog.MessageFieldName].(string); ok {
			fields[zerolog.MessageFieldName] = Printable(message)
		}
		return nil
	}
	return out
}

// usageError is a mistake in the command line.
type usageError struct{ error }

// Usagef returns an error that says what is wrong with the command line: exit 2.
func Usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// Exit codes; see the README.
const (
	exitDone          = 0
	exitFailed        = 1
	exitUsage         = 2
	exitContradiction = 3
	exitIncomplete    = 4
	exitNoConnection  = 5
	exitSignal        = 128 // plus the signal's number
)

// Main runs the command line and returns the exit code. An error is told once,
// here: as a plain line where the command line is at fault, in the log otherwise.
func (a *App) Main() int {
	ctx, stop := withSignals(context.Background())
	defer stop()
	registerCompletions(a.root)
	cmd, err := a.root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	code := a.exitCode(err)
	if code == exitUsage {
		cmd.PrintErrf("%s: %s\n", cmd.CommandPath(), Printable(withEnvSource(cmd.Flags(), OneLine(err))))
		return code
	}
	a.Log.Error().Int("exit", code).Msg(OneLine(err))
	return code
}

// OneLine returns the text of an error, which may be several that were joined, on one
// line, for the log.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func (a *App) exitCode(err error) int {
	var signal Signal
	switch {
	case errors.As(err, new(usageError)), !a.started:
		return exitUsage
	case errors.As(err, &signal):
		return exitSignal + int(signal.Number)
	case errors.Is(err, queens.ErrContradiction):
		return exitContradiction
	case errors.Is(err, queens.ErrIncomplete):
		return exitIncomplete
	case errors.Is(err, queens.ErrNoConnection):
		return exitNoConnection
	}
	return exitFailed
}
