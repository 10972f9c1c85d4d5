package kernel

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// SelfTestN is the side of the largest full board whose total [SelfTest] compares with the published one.
const SelfTestN = 12

// selfTestSides are the sides of the boards that [SelfTest] counts from deep prefixes, the number of rows that these leave on
// the full board, and how many there are of a gapped one. A kernel may count wide boards in another way, and the wider of them in a third one.
var selfTestSides = []struct{ n, left, gapped int }{{20, 9, 3}, {28, 12, 40}}

// SelfTest counts boards with kernel k, and compares the totals of full boards with the published ones, and all other counts with
// those of the reference kernel. It runs every function that a count can reach: boards of few and of many columns, with few and
// with many open rows, with gaps between these and without. It takes milliseconds. A process calls it before it counts, because
// the machine or the build may be broken although the test suite passed. The error names the kernel, the side and both
// numbers, or is the cause of ctx, or an error of [Kernel.WithCounter].
func SelfTest(ctx context.Context, k Kernel) error {
	return k.WithCounter(func(c Counter) error {
		for n := 1; n <= SelfTestN; n++ {
			board, rows := queens.FullBoard(n), 2
			if n == SelfTestN {
				rows = 1 // leaves rows enough for the steps far from the last row
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
			if err := compare(ctx, k.Name, c, &gapped, deepPrefixes(&gapped, gappedRows, side.gapped)); err != nil {
				return err
			}
		}
		return nil
	})
}

// alone is the number of prefixes of a board that [SelfTest] also counts one by one.
const alone = 4

// compare counts some prefixes of a board each in a task of its own, and then all in one, and compares the counts. On a board of a
// side up to SelfTestN, the prefixes are all of the full board.
func compare(ctx context.Context, name string, c Counter, board *queens.Board, prefixes []queens.Prefix) error {
	var tasks [][]queens.Prefix
	for i := range min(alone, len(prefixes)) {
		tasks = append(tasks, prefixes[i:i+1])
	}
	var pulse atomic.Uint64
	counts, err := CountTasks(ctx, c, board, append(tasks, prefixes), &pulse)
	if err != nil {
		return err
	}
	wrong := func(i int, want uint64, source string) error {
		if counts[i].Count == want {
			return nil
		}
		return fmt.Errorf("kernel %s counts %d for n = %d, %s is %d: this machine or this build is broken, choose another kernel or machine",
			name, counts[i].Count, board.N, source, want)
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

// gappedRows is the number of last rows of a gapped board of which some have their queen.
const gappedRows = 16

// gappedBoard returns a board on which a few of the last rows allow a single square, so that each step of a search meets the gap
// that such a row leaves. The other rows allow no square that these attack.
func gappedBoard(n int) queens.Board {
	p := newProblem(new(queens.FullBoard(n)), 0)
	for i, fromLast := range []int{2, 8, 13} {
		p.place(n-fromLast, 1<<(n/2+3*i))
		p.allow[n-fromLast] = 1 << (n/2 + 3*i)
	}
	return queens.Board{N: n, Allow: p.allow}
}

// deepPrefixes returns at most that many prefixes of a board that leave so many rows, always the same.
func deepPrefixes(b *queens.Board, left, most int) (prefixes []queens.Prefix) {
	for seed := range uint64(most) {
		rng := rand.New(rand.NewPCG(seed, 0))
		if p := randomPrefix(rng, b, b.N-left); p.Row == b.N-left {
			prefixes = append(prefixes, p)
		}
	}
	return prefixes
}

// randomPrefix places queens on random free squares of that many rows, and of fewer if it gets stuck.
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

// firstRows returns all prefixes of that many rows, or of all rows if the board has fewer.
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
