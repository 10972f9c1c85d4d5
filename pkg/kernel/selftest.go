package kernel

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// SelfTestN is the side of the largest board that [SelfTest] counts.
const SelfTestN = 12

// wideSides are the sides of the boards that [SelfTest] counts from deep prefixes: a kernel may
// count wide boards in another way.
var wideSides = []int{20, 28}

// SelfTest counts the full boards of side 1 to [SelfTestN] with kernel k and compares the
// totals with the published ones, and the counts of single prefixes of these and of wider boards with
// those of the reference kernel. It takes milliseconds. A process calls it before it
// counts, because the machine or the build may be broken although the test suite passed. The
// error names the kernel, the side and both numbers, or is the cause of ctx, or an error of
// [Kernel.WithCounter].
func SelfTest(ctx context.Context, k Kernel) error {
	return k.WithCounter(func(c Counter) error {
		for n := 1; n <= SelfTestN; n++ {
			board := queens.FullBoard(n)
			if err := compare(ctx, k.Name, c, &board, firstRows(&board)); err != nil {
				return err
			}
		}
		for _, n := range wideSides {
			board := queens.FullBoard(n)
			if err := compare(ctx, k.Name, c, &board, deepPrefixes(&board)); err != nil {
				return err
			}
		}
		return nil
	})
}

// compare counts prefixes of a full board, all in one task and each in a task of its own, and compares the
// counts.
func compare(ctx context.Context, name string, c Counter, board *queens.Board, prefixes []queens.Prefix) error {
	tasks := [][]queens.Prefix{prefixes}
	for i := range prefixes {
		tasks = append(tasks, prefixes[i:i+1])
	}
	var pulse atomic.Uint64
	counts, err := CountTasks(ctx, c, board, tasks, &pulse)
	if err != nil {
		return err
	}
	reference := new(genericCounter)
	for i, task := range tasks {
		var source string
		var want uint64
		if i == 0 && board.N <= SelfTestN {
			known, _ := queens.KnownTotal(board.N)
			source, want = "the published total", known.Uint64()
		} else {
			source = "the count of kernel generic"
			if want, err = reference.Count(ctx, board, task, &pulse); err != nil {
				return err
			}
		}
		if got := counts[i].Count; got != want {
			return fmt.Errorf("kernel %s counts %d for n = %d, %s is %d: this machine or this build is broken, choose another kernel or machine",
				name, got, board.N, source, want)
		}
	}
	return nil
}

// deepPrefixes returns prefixes of a full board that leave nine rows, always the same.
func deepPrefixes(b *queens.Board) (prefixes []queens.Prefix) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		if p := randomPrefix(rng, b, b.N-9); p.Row == b.N-9 {
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

// firstRows returns all prefixes of two rows, or of one row on a board of side 1.
func firstRows(b *queens.Board) []queens.Prefix {
	prefixes := []queens.Prefix{{}}
	for range min(2, b.N) {
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
