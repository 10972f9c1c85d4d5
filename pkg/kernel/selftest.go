package kernel

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// SelfTestN is the side of the largest full board whose total [SelfTest] compares with the
// published one.
const SelfTestN = 12

// selfTestSides has the sides of the large boards that [SelfTest] counts: two, because a kernel may
// use different functions for wide and for very wide boards. The field left is the number of rows
// that prefixes of the full board leave, and gapped is the greatest number of prefixes of the
// gapped board.
var selfTestSides = []struct{ n, left, gapped int }{{20, 9, 3}, {28, 12, 40}}

// SelfTest counts boards with kernel k. It compares the totals of small full boards with the
// published ones, and all other counts with counts of the reference kernel. The boards have few and
// many columns, few and many open rows, and rows with and without gaps, so that every function of
// the kernel runs. On a CPU, SelfTest takes milliseconds. Workers and coordinators call it before
// they count a run, because their machine or build may be broken although the test suite passed.
// The error for a wrong count wraps [ErrBroken] and names the kernel, the side and both numbers.
// Other errors come from [Kernel.WithCounter] or [CountTasks], such as context.Cause(ctx).
func SelfTest(ctx context.Context, k Kernel) error {
	return k.WithCounter(func(c Counter) error {
		for n := 1; n <= SelfTestN; n++ {
			board, rows := queens.FullBoard(n), 2
			if n == SelfTestN {
				rows = 1 // leaves enough rows for the steps far from the last row
			}
			if err := compare(ctx, k.Name, c, &board, firstRows(&board, rows)); err != nil {
				return err
			}
		}
		for _, side := range selfTestSides {
			full, gapped := queens.FullBoard(side.n), gappedBoard(side.n)
			if err := compare(ctx, k.Name, c, &full, deepPrefixes(&full, side.left, 120)); err != nil {
				return err
			}
			if err := compare(ctx, k.Name, c, &gapped,
				deepPrefixes(&gapped, gappedRows, side.gapped)); err != nil {
				return err
			}
		}
		return nil
	})
}

// alone is the number of prefixes of a board that [SelfTest] also counts in tasks of their own.
const alone = 4

// compare counts the first prefixes of a board, each in a task of its own, and all prefixes in one
// more task. It returns an error if a count is wrong. Up to side SelfTestN, the board must be full,
// and the prefixes must be all those with some number of rows.
func compare(
	ctx context.Context, name string, c Counter, board *queens.Board, prefixes []queens.Prefix,
) error {
	var tasks []queens.Task
	for i := range min(alone, len(prefixes)) {
		tasks = append(tasks, queens.Task{Board: *board, Prefixes: prefixes[i : i+1]})
	}
	var pulse atomic.Uint64
	counts, err := CountTasks(ctx, c, append(tasks, queens.Task{Board: *board, Prefixes: prefixes}),
		&pulse)
	if err != nil {
		return err
	}
	wrong := func(i int, want uint64, source string) error {
		if counts[i].Count == want {
			return nil
		}
		return fmt.Errorf("kernel %s counts %d for n = %d, %s is %d: %w, choose another kernel or "+
			"machine",
			name, counts[i].Count, board.N, source, want, ErrBroken)
	}
	const byGeneric = "the count of kernel generic"
	small := board.N <= SelfTestN
	if known, _ := queens.KnownTotal(board.N); small {
		if err := wrong(len(tasks), known.Uint64(), "the published total"); err != nil {
			return err
		}
	}
	reference, sum := new(genericCounter), uint64(0)
	for i := range prefixes {
		if small && i == len(tasks) {
			return nil
		}
		want, err := reference.Count(ctx, board, prefixes[i:i+1], &pulse)
		if err == nil && i < len(tasks) {
			err = wrong(i, want, byGeneric)
		}
		if err != nil {
			return err
		}
		sum += want
	}
	if small {
		return nil
	}
	return wrong(len(tasks), sum, byGeneric)
}

// gappedRows is the number of rows that prefixes leave on a gapped board. Three of them allow a
// single square.
const gappedRows = 16

// gappedBoard returns a board on which three of the last rows allow a single square. These rows get
// their queens first and leave gaps, so that a kernel uses every function for rows with gaps. The
// other rows allow no square that these queens attack.
func gappedBoard(n int) queens.Board {
	p := newProblem(new(queens.FullBoard(n)), 0)
	for i, fromLast := range []int{2, 8, 13} {
		p.place(n-fromLast, 1<<(n/2+3*i))
		p.allow[n-fromLast] = 1 << (n/2 + 3*i)
	}
	return queens.Board{N: n, Allow: p.allow}
}

// deepPrefixes returns random prefixes of a board that leave the given number of rows. The
// parameter most is the number of seeds that it tries; each gives at most one prefix. Equal
// arguments give equal prefixes.
func deepPrefixes(b *queens.Board, left, most int) (prefixes []queens.Prefix) {
	for seed := range uint64(most) {
		rng := rand.New(rand.NewPCG(seed, 0))
		if p := randomPrefix(rng, b, b.N-left); p.Row == b.N-left {
			prefixes = append(prefixes, p)
		}
	}
	return prefixes
}

// randomPrefix places queens on random free squares of the first rows. It returns a prefix of fewer
// rows if a row has no free square.
func randomPrefix(rng *rand.Rand, b *queens.Board, rows int) queens.Prefix {
	var p queens.Prefix
	for p.Row < rows && p.Free(b) != 0 {
		free := p.Free(b)
		for range rng.IntN(bits.OnesCount32(free)) {
			free &= free - 1
		}
		p = p.Place(b, free&-free)
	}
	return p
}

// firstRows returns all prefixes of the given number of rows, or of all rows if the board has
// fewer.
func firstRows(b *queens.Board, rows int) []queens.Prefix {
	prefixes := []queens.Prefix{{}}
	for range min(rows, b.N) {
		var next []queens.Prefix
		for _, p := range prefixes {
			for free := p.Free(b); free != 0; free &= free - 1 {
				next = append(next, p.Place(b, free&-free))
			}
		}
		prefixes = next
	}
	return prefixes
}
