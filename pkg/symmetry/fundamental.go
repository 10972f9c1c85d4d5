package symmetry

import (
	"context"
	"fmt"
	"math/big"

	"nqueens/pkg/queens"
)

// Fundamental returns the number of solutions of side n that differ by more than a rotation or a
// reflection (https://oeis.org/A002562), given the total. It counts the symmetric solutions on the
// given number of threads, at least 1. That takes an instant up to n = 22 and seconds for n = 27;
// from one n to the next, the time grows about fourfold. If the total does not give a whole number,
// the error wraps [queens.ErrContradiction]. If ctx ends, Fundamental returns context.Cause(ctx).
func Fundamental(ctx context.Context, n int, total *big.Int, threads int) (*big.Int, error) {
	if err := queens.ValidateN(n); err != nil {
		return nil, err
	}
	if n == 1 {
		return new(big.Int).Set(total), nil // the only solution is its own mirror image
	}
	half, err := HalfTurn(ctx, n, threads)
	if err != nil {
		return nil, err
	}
	quarter, err := QuarterTurn(ctx, n)
	if err != nil {
		return nil, err
	}
	return Unique(total, half, quarter)
}

// Unique returns the number of equivalence classes of solutions under the eight symmetries of the
// square, for a board of side 2 or more. By Burnside's lemma, it is the mean, over the symmetries,
// of the number of solutions that a symmetry maps to themselves. The parameters total, half and
// quarter are this number for the identity, for the half turn, and for each of the two quarter
// turns. For each of the four reflections it is 0: see docs/symmetry.md.
//
// If the mean is not a whole number, the error wraps [queens.ErrContradiction].
func Unique(total *big.Int, half, quarter uint64) (*big.Int, error) {
	sum := new(big.Int).SetUint64(quarter)
	sum.Lsh(sum, 1)
	sum.Add(sum, new(big.Int).SetUint64(half))
	sum.Add(sum, total)
	unique, remainder := sum.QuoRem(sum, big.NewInt(8), new(big.Int))
	if remainder.Sign() != 0 {
		return nil, fmt.Errorf(
			"%w: %d solutions, %d of them fixed by a half turn and %d by a quarter turn, "+
				"do not give a whole number of fundamental solutions", queens.ErrContradiction, total, half,
			quarter)
	}
	return unique, nil
}
