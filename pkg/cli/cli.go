// Package cli has what both commands need at their edge: flags, also from the environment; usage errors; the log; help,
// signals and exit codes. It knows nothing of counting.
package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/queens"
)

// App is a program with subcommands.
type App struct {
	Log        zerolog.Logger // to stderr, once a subcommand runs
	NoProgress bool           // the person wants no progress

	root    *cobra.Command
	out     *logSwitch
	level   string
	format  string
	color   string
	quiet   bool
	started bool // a subcommand has started: its flags are valid
}

// New adds to the root command what all programs have: the flags of the log, flags from the environment, and help.
func New(root *cobra.Command) *App {
	a := &App{root: root, out: new(logSwitch), Log: zerolog.Nop()}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{explain(err)} })
	if !root.Runnable() {
		root.Args = NoArguments
		root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	FlagGroup(root.PersistentFlags(), "Flags of all commands", func(flags *pflag.FlagSet) {
		flags.Var(NewEnum(&a.level, "info", "debug", "info", "warn", "error"), "log-level", "lowest level to log")
		flags.Var(NewEnum(&a.format, "auto", "auto", "json"), "log-format", "auto is lines for people, json is an object a line")
		flags.BoolVar(&a.NoProgress, "no-progress", false, "print no progress")
		flags.BoolVarP(&a.quiet, "quiet", "q", false, "print no progress and log errors only")
		flags.Var(NewEnum(&a.color, "auto", "auto", "always", "never"), "color", "colors on stderr")
	})
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Name() == cobra.ShellCompRequestCmd {
			return nil // its flags are those of the command to complete
		}
		if err := fromEnvironment(cmd.Flags()); err != nil {
			return err
		}
		a.openLog(cmd.ErrOrStderr())
		a.started = true
		return nil
	}
	customizeHelp(root)
	return a
}

// usageError is an error in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usagef returns an error that says what is wrong with the command line: exit 2.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Exit codes; docs/reference.md has their meanings.
const (
	exitDone          = 0
	exitFailed        = 1
	exitUsage         = 2
	exitContradiction = 3
	exitIncomplete    = 4
	exitNoConnection  = 5
	exitSignal        = 128 // plus the number of the signal
)

// Main runs the command line and returns the exit code. It reports the error: a usage error as a plain line, any other in
// the log.
func (a *App) Main() int {
	ctx, stop := withSignals(context.Background())
	defer stop()
	a.root.InitDefaultHelpCmd()
	a.root.InitDefaultCompletionCmd()
	cmd, err := a.root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	code := a.exitCode(err)
	text := queens.Sanitize(strings.ReplaceAll(err.Error(), "\n", "; ")) // of errors.Join
	switch {
	case code == exitUsage:
		cmd.PrintErrf("%s: %s%s\n", cmd.CommandPath(), text, environmentOf(cmd.Flags(), text))
	case isOnlySignal(err): // who sent it knows
	default:
		a.Log.Error().Int("exit", code).Msg(text)
	}
	return code
}

func (a *App) exitCode(err error) int {
	var signal Signal
	switch {
	case errors.As(err, new(usageError)), !a.started:
		return exitUsage
	case errors.Is(err, queens.ErrContradiction):
		return exitContradiction
	case errors.As(err, &signal):
		return exitSignal + int(signal.Number)
	case errors.Is(err, queens.ErrIncomplete):
		return exitIncomplete
	case errors.Is(err, queens.ErrNoConnection):
		return exitNoConnection
	}
	return exitFailed
}
