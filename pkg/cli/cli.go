// Package cli has what the command lines of both programs need: flags (also from the environment),
// usage errors, the log, help, signals and exit codes. It knows nothing of counting.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// App is a program with subcommands.
type App struct {
	Log        zerolog.Logger // to stderr, once a command runs
	NoProgress bool           // set by --no-progress and --quiet

	root    *cobra.Command
	stderr  io.Writer
	out     logSwitch // where the log goes
	level   string
	format  string
	color   string
	quiet   bool
	started bool // a command has started: its flags are valid
}

// NewApp adds to a root command what both programs have: the flags of the log, flags from the
// environment, and help.
func NewApp(root *cobra.Command) *App {
	a := &App{root: root, Log: zerolog.Nop()}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{explain(err)} })
	root.Flags().SortFlags = false
	flags := root.PersistentFlags()
	Enum(flags, &a.level, "log-level", "info", "lowest level to log", "debug", "info", "warn", "error")
	Enum(flags, &a.format, "log-format", "auto", "auto writes lines for people, json an object a line",
		"auto", "json")
	flags.BoolVar(&a.NoProgress, "no-progress", false, "print no progress")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print no progress, and log only errors")
	Enum(flags, &a.color, "color", "auto", "colors on stderr", "auto", "always", "never")
	Heading(flags, "Flags of all commands", "log-level")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Name() == cobra.ShellCompRequestCmd {
			return nil // completions log nothing, and no wrong variable prevents them
		}
		if err := fromEnvironment(cmd.Flags()); err != nil {
			return err
		}
		a.openLog(cmd.ErrOrStderr())
		a.started = true
		for _, names := range misspelled(os.Environ(), append(root.Commands(), root)...) {
			a.Log.Warn().Str("variable", names[0]).Str("instead", names[1]).Msg(
				"the variable " + names[0] + " sets no flag, and is ignored: " + names[1] + " does")
		}
		return nil
	}
	// commands and flags stand in the order in which they were added
	cobra.EnableCommandSorting = false
	cobra.AddTemplateFunc("flagsOf", flagsOf)
	cobra.AddTemplateFunc("exitCodesOf", ExitCodesOf)
	root.SetHelpTemplate(help)
	return a
}

// usageError is an error in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usagef returns an error that says what is wrong with the command line. It gives exit code 2,
// unless it wraps an error that has another code.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Main runs the command line and returns the exit code. It reports a usage error as a plain line,
// and other errors in the log. It reports nothing if a signal is the only cause, or if nobody reads
// stdout any more, as with `| head`.
func (a *App) Main() int {
	ctx, stop := withSignals(context.Background())
	defer stop()
	Rename(a.root, humanize.Program)
	cmd, err := a.root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	code := a.exitCode(err)
	var signal Signal
	var failed *fs.PathError
	stdoutClosed := errors.As(err, &failed) && failed.Path == os.Stdout.Name() &&
		errors.Is(failed, syscall.EPIPE)
	// A text has several lines if errors.Join made it, or if cobra suggests other commands.
	text := queens.Sanitize(
		strings.NewReplacer("\n\n", ": ", "\n\t", " ", "\n",
			"; ").Replace(strings.TrimSpace(err.Error())))
	switch {
	case code == exitUsage:
		cmd.PrintErrf("%s: %s\n", cmd.CommandPath(), text)
	case errors.As(err, &signal) && text == signal.Error():
		// a person or another program sent it, and knows
	case stdoutClosed && code == exitFailed:
	default:
		a.Log.Error().Int("exit", code).Msg(text)
	}
	return code
}
