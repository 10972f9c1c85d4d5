package cli

import (
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"nqueens/pkg/queens"
)

// ParseN parses the only argument of a command, N: the side of the board.
func ParseN(args []string) (int, error) {
	if len(args) == 0 {
		return 0, Usagef("N is missing: the side of the board, from 1 to %d", queens.MaxN)
	}
	if len(args) > 1 {
		return 0, Usagef("takes one argument, the side N of the board, not %d: %q", len(args), args)
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || queens.ValidateN(n) != nil {
		return 0, Usagef("N must be a whole number from 1 to %d, not %q", queens.MaxN, args[0])
	}
	return n, nil
}

// NoArguments is the [cobra.Command.Args] of commands without arguments. Where a
// subcommand may be meant, its error suggests one.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if slices.Contains(c.SuggestFor, args[0]) {
			return Usagef("unknown command or argument %q: did you mean %s?", args[0], c.Name())
		}
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	hint := didYouMean(args[0], names)
	if hint == "" {
		hint = ": see " + cmd.CommandPath() + " --help"
	}
	return Usagef("unknown command or argument %q%s", args[0], hint)
}
