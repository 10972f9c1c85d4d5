package halves

import (
	"context"
	"fmt"
	"sync/atomic"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// Recount counts the same as [Counter.Count] by depth-first search: the weighted sum of the row
// sets first to first+sets-1 of the board of side n. It takes several times as long. It increments
// pulse as c does. Besides the errors of c, it returns an error if there is no such row set, if the
// sum passes 64 bits, or if counts of c can't be right.
func Recount(
	ctx context.Context, c kernel.Counter, n int, first, sets uint64, pulse *atomic.Uint64,
) (sum uint64, err error) {
	if err := validate(n, first, sets); err != nil {
		return 0, err
	}
	for number := first; number < first+sets; number++ {
		if sum, err = recountSet(ctx, c, n, Set(n, number), sum, pulse); err != nil {
			return 0, fmt.Errorf("row set %d of the board of side %d: %w", number, n, err)
		}
	}
	return sum, nil
}

// recountSet adds the weighted sum of a row set to sum. It counts on boards that allow western
// queens on both long diagonals, on the main diagonal, on the other, and on none. The differences
// of these counts are the solutions with 2, 1 and no such queens.
func recountSet(
	ctx context.Context, c kernel.Counter, n int, s RowSet, sum uint64, pulse *atomic.Uint64,
) (uint64, error) {
	w := weightsOf(n, s)
	count := func(b queens.Board) (uint64, error) {
		return c.Count(ctx, &b, []queens.Prefix{{}}, pulse)
	}
	both, err := count(turned(n, s, true, true))
	if err != nil {
		return 0, err
	}
	main, err := count(turned(n, s, true, false))
	if err != nil {
		return 0, err
	}
	anti, err := count(turned(n, s, false, true))
	if err != nil {
		return 0, err
	}
	none, err := count(turned(n, s, false, false))
	if err != nil {
		return 0, err
	}
	if both < none || main < none || anti < none || both-none < main-none+(anti-none) {
		return 0, fmt.Errorf("counts of boards with fewer and fewer squares are %d, %d and %d, %d: this "+
			"machine or this build is broken, choose another kernel or machine", both, main, anti, none)
	}
	one := main - none + (anti - none)
	counts := []struct{ weight, count uint64 }{
		{weightOfTwo, both - none - one}, {weightOfOne, one}, {w.none, none},
	}
	if w.centre != 0 {
		centre := turned(n, s, false, false)
		centre.Preplace(n/2, n/2)
		found, err := count(centre)
		if err != nil {
			return 0, err
		}
		counts = append(counts, struct{ weight, count uint64 }{w.centre, found})
	}
	for _, x := range counts {
		if sum, err = add(sum, w.set*x.weight, x.count); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// turned returns the board of side n on which queens stand in the east on the rows of the row set,
// and in the west on the others. The board is turned by its main diagonal: its row c is column c of
// the board that was cut into halves. So each row allows about half of the squares, and a search
// row by row meets few dead ends. On the squares of the main diagonal and of the other long
// diagonal, queens may stand only in the west, and only if the parameters say so.
func turned(n int, s RowSet, mainDiagonal, antiDiagonal bool) queens.Board {
	b := queens.FullBoard(n)
	for column := range n {
		allow, inWest := b.Columns()&uint32(s), column < west(n)
		if inWest {
			allow = b.Columns() &^ uint32(s)
		}
		if !inWest || !mainDiagonal {
			allow &^= 1 << column
		}
		if !inWest || !antiDiagonal {
			allow &^= 1 << (n - 1 - column)
		}
		b.Allow[column] = allow
	}
	return b
}
