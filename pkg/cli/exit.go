package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nqueens/pkg/queens"
)

// The exit codes of the programs.
const (
	exitDone          = 0
	exitFailed        = 1
	exitUsage         = 2
	exitContradiction = 3
	exitIncomplete    = 4
	exitNoConnection  = 5
	exitSignal        = 128 // plus the number of the signal
)

// ExitCode is an exit code for people.
type ExitCode struct{ Code, Meaning string }

// ExitCodes lists the exit codes of the programs and their meanings.
func ExitCodes() []ExitCode {
	return []ExitCode{
		{"0", "done (a worker: or stopped by a signal)"},
		{"1", "failed"},
		{"2", "the command line is wrong"},
		{"3", "a total or a count contradicts the published total or another count"},
		{"4", "no total yet, but the run can be resumed: full disk, another coordinator, a machine " +
			"that can't be trusted"},
		{"5", "no connection, or the server refused it"},
		{"128+S", "stopped by the signal S (a worker: by a second one): 130 by Ctrl-C, 143 by SIGTERM, " +
			"129 by SIGHUP"},
	}
}

// exitCodes is the key of the annotation with the exit codes of a command.
const exitCodes = "nqueens_exit_codes"

// ShowExitCodes makes the help of a command end with the exit codes, except those that the command
// never has.
func ShowExitCodes(cmd *cobra.Command, except ...string) {
	var lines []string
	for _, c := range ExitCodes() {
		if !slices.Contains(except, c.Code) {
			lines = append(lines, fmt.Sprintf("  %-5s  %s", c.Code, c.Meaning))
		}
	}
	cmd.Annotations = map[string]string{exitCodes: strings.Join(lines, "\n")}
}

// ExitCodesOf returns the lines of help about the exit codes of a command, or "" if its help does
// not show them.
func ExitCodesOf(cmd *cobra.Command) string { return cmd.Annotations[exitCodes] }

func (a *App) exitCode(err error) int {
	var signal Signal
	switch {
	case errors.Is(err, queens.ErrContradiction):
		return exitContradiction
	case errors.As(err, &signal):
		return exitSignal + int(signal.Signal)
	case errors.Is(err, queens.ErrIncomplete):
		return exitIncomplete
	case errors.Is(err, queens.ErrNoConnection):
		return exitNoConnection
	case errors.As(err, new(usageError)), !a.started:
		return exitUsage
	}
	return exitFailed
}
