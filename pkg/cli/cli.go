// Package cli has what both commands need at their edge: flags, also from the environment;
// usage errors with suggestions; the log; help, completions, signals and exit codes. It
// knows nothing of counting.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// App is a program with subcommands.
type App struct {
	Log        zerolog.Logger // to stderr, once a subcommand runs
	NoProgress bool           // the person wants no progress

	root          *cobra.Command
	logSwitch     *logSwitch
	level, format string
	color         string
	quiet         bool
	started       bool // a subcommand has started: its flags are valid
	interrupt     func()
}

// New adds to the root command what all programs have: the flags of the log, flags from
// the environment, and help. [VersionCommand] has the version.
func New(root *cobra.Command) *App {
	a := &App{root: root, logSwitch: new(logSwitch), Log: zerolog.Nop()}
	root.Use = installedName(root.Use, os.Args[0])
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	if !root.Runnable() {
		root.Args = NoArguments
		root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	customizeHelp(root)
	FlagGroup(root.PersistentFlags(), "Flags of all commands", func(flags *pflag.FlagSet) {
		flags.Var(NewEnum(&a.level, "info", "debug", "info", "warn", "error"), "log-level", "lowest level to log")
		flags.Var(NewEnum(&a.format, "auto", "auto", "json"), "log-format", "format of the log: auto is lines for people, json an object a line")
		flags.BoolVar(&a.NoProgress, "no-progress", false, "print no progress")
		flags.BoolVarP(&a.quiet, "quiet", "q", false, "print no progress and log errors only, whatever --log-level says")
		flags.Var(NewEnum(&a.color, "auto", "auto", "always", "never"), "color",
			"colors on stderr; auto has them on a terminal that shows them, unless NO_COLOR is set")
	})
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Name() == cobra.ShellCompRequestCmd {
			return nil // its flags are those of the command to complete
		}
		if err := fromEnvironment(cmd.Flags()); err != nil {
			return err
		}
		if err := a.openLog(cmd.ErrOrStderr()); err != nil {
			return err
		}
		a.warnMisspelt(cmd.Root())
		a.started = true
		return nil
	}
	return a
}

// installedName returns the name under which a program is called, if it ends in its own name as
// nqueens-coordinator does: help shows it, and completions are registered for it.
func installedName(name, path string) string {
	called := strings.TrimSuffix(filepath.Base(path), ".exe")
	if strings.HasSuffix(called, "-"+name) {
		return called
	}
	return name
}

func (a *App) openLog(stderr io.Writer) error {
	level, err := zerolog.ParseLevel(a.level)
	if err != nil {
		return Usagef("--log-level: %v", err)
	}
	if a.quiet {
		level, a.NoProgress = zerolog.ErrorLevel, true
	}
	a.logSwitch.stderr = stderr
	var out io.Writer = a.logSwitch
	if a.color == "always" {
		_ = os.Unsetenv("NO_COLOR") // zerolog obeys it whatever its settings are
	}
	if a.isForPeople() {
		out = forPeople(out, a.Colors(), level == zerolog.DebugLevel)
	}
	a.Log = zerolog.New(out).Level(level).With().Timestamp().Logger()
	return nil
}

// isForPeople reports whether the log is for people.
func (a *App) isForPeople() bool { return a.format != "json" }

// Tell writes lines as they are where the log is for people, unless it has no lines of level info. It reports whether it
// did.
func (a *App) Tell(lines string) bool {
	if !a.isForPeople() || a.Log.GetLevel() > zerolog.InfoLevel {
		return false
	}
	_, _ = io.WriteString(a.logSwitch, lines) // as the log: it has nobody to tell of an error
	return true
}

// forPeople writes log lines for people: of a line with [humanize.LogField] that text, otherwise the message and all
// fields. It sanitizes the message, which may repeat what came
// over the network; zerolog quotes the values of fields that have more than printable ASCII.
func forPeople(w io.Writer, color, fieldsToo bool) io.Writer {
	out := zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: !color}
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

// usageError is an error in the command line.
type usageError struct{ error }

// Usagef returns an error that says what is wrong with the command line: exit 2.
func Usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// Exit codes; docs/reference.md has their meanings.
const (
	exitDone          = 0
	exitFailed        = 1
	exitUsage         = 2
	exitContradiction = 3
	exitIncomplete    = 4
	exitNoConnection  = 5
	exitSignal        = 128 // plus the signal's number
)

// Main runs the command line and returns the exit code. It reports the error: a usage error
// as a plain line, any other in the log, where a signal alone is a warning.
func (a *App) Main() int {
	ctx, interrupt, stop := withSignals(context.Background())
	a.interrupt = interrupt
	defer stop()
	addDefaultCommands(a.root)
	registerCompletions(a.root)
	cmd, err := a.root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	code := a.exitCode(err)
	if code == exitUsage {
		cmd.PrintErrf("%s: %s\n", cmd.CommandPath(), queens.Sanitize(withEnvSource(cmd.Flags(), asInstalled(a.root, OneLine(err)))))
		return code
	}
	event := a.Log.Error()
	switch {
	case !isOnlySignal(err):
	case a.isForPeople(): // who asked for it
		return code
	default:
		event = a.Log.Warn()
	}
	event.Int("exit", code).Msg(asInstalled(a.root, OneLine(err)))
	return code
}

// OneLine returns the text of an error, which [errors.Join] may have made of several, on one
// line for the log.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Interrupt ends the context of the subcommand as Ctrl-C does.
func (a *App) Interrupt() { a.interrupt() }

func (a *App) exitCode(err error) int {
	var signal Signal
	switch {
	case errors.As(err, new(usageError)), !a.started:
		return exitUsage
	case errors.As(err, &signal):
		return exitSignal + int(signal.Number)
	case errors.Is(err, run.ErrContradiction):
		return exitContradiction
	case errors.Is(err, run.ErrIncomplete):
		return exitIncomplete
	case errors.Is(err, run.ErrNoConnection):
		return exitNoConnection
	}
	return exitFailed
}
