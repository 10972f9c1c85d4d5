package cli

import (
	"slices"
	"strconv"
	"strings"

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

// Arguments returns the [cobra.Command.Args] of a command that takes these arguments, none of them empty. Its
// error names them, with what helps.
func Arguments(help string, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == len(names) && !slices.Contains(args, "") {
			return nil
		}
		hint := ""
		if help != "" {
			hint = ": " + help
		}
		return Usagef("takes %s, not %q%s", strings.Join(names, " and "), args, hint)
	}
}

// NoArguments is the [cobra.Command.Args] of commands without arguments. Where a
// subcommand may be meant, its error suggests one.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see " + cmd.CommandPath() + " --help"
	cmd.SuggestionsMinimumDistance = maxDistance
	if found := cmd.SuggestionsFor(args[0]); len(found) > 0 {
		hint = "did you mean " + found[0] + "?"
	}
	return Usagef("unknown command or argument %q: %s", args[0], hint)
}
