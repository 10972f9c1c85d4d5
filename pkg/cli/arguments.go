package cli

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/queens"
)

// Side takes the one argument N of a command: the side of the board.
func Side(args []string) (int, error) {
	if len(args) == 0 {
		return 0, Usagef("N is missing: the side of the board, from 1 to %d", queens.MaxN)
	}
	if len(args) > 1 {
		return 0, Usagef("takes one argument, the side N of the board, not %d: %q", len(args), args)
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || queens.CheckN(n) != nil {
		return 0, Usagef("N must be a whole number from 1 to %d, not %q", queens.MaxN, args[0])
	}
	return n, nil
}

// NoArguments is for commands that take none.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("unknown command or argument %q", args[0])
	}
	return nil
}

// negativeSide turns the complaint about an unknown flag -5 into one about N: a
// negative number looks like a flag.
func negativeSide(_ *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if _, notNumber := strconv.Atoi(unknown.GetSpecifiedShortnames()); notNumber == nil {
			return Usagef("N must be a whole number from 1 to %d, not -%s", queens.MaxN, unknown.GetSpecifiedShortnames())
		}
	}
	return err
}
