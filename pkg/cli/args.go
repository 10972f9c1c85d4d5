package cli

import (
	"strconv"

	"nqueens/pkg/queens"
)

// ParseN takes the one argument N of a command: the side of the board.
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
