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
// counts with the published totals, and counts prefixes of wider boards and compares the counts
// with those of the reference kernel. It takes milliseconds. A process calls it before it
// counts, because the machine or the build may be broken although the test suite passed. The
// error names the kernel, the side and both numbers, or is the cause of ctx, or an error of
// [Kernel.WithCounter].
func SelfTest(ctx context.Context, k Kernel) error {
	return k.WithCounter(func(c Counter) error { return selfTest(ctx, k.Name, c) })
}

// advice ends the errors of a self-test.
const advice = "this machine or this build is broken, choose another kernel or machine"

func selfTest(ctx context.Context, name string, c Counter) error {
	var pulse atomic.Uint64
	for n := 1; n <= SelfTestN; n++ {
		board := queens.FullBoard(n)
		got, err := c.Count(ctx, &board, firstRows(&board), &pulse)
		if err != nil {
			return err
		}
		if known, _ := queens.KnownTotal(n); got != known.Uint64() {
			return fmt.Errorf("kernel %s counts %d solutions for n = %d, the published total is %v: %s", name, got, n, known, advice)
		}
	}
	if err := testTasks(ctx, name, c); err != nil {
		return err
	}
	for _, n := range wideSides {
		board := queens.FullBoard(n)
		prefixes := deepPrefixes(&board)
		got, err := c.Count(ctx, &board, prefixes, &pulse)
		if err != nil {
			return err
		}
		want, err := new(genericCounter).Count(ctx, &board, prefixes, &pulse)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("kernel %s counts %d completions of some prefixes for n = %d, kernel generic %d: %s", name, got, n, want, advice)
		}
	}
	return nil
}

// testTasks counts tasks of one prefix each, all at once if the kernel does that, and compares each count
// with that of the reference kernel.
func testTasks(ctx context.Context, name string, c Counter) error {
	if _, batch := c.(BatchCounter); !batch {
		return nil
	}
	board := queens.FullBoard(SelfTestN)
	var tasks [][]queens.Prefix
	for _, p := range firstRows(&board) {
		tasks = append(tasks, []queens.Prefix{p})
	}
	var pulse atomic.Uint64
	counts := make(map[int]uint64)
	if err := CountTasks(ctx, c, &board, tasks, &pulse, func(task int, count uint64) { counts[task] += count }); err != nil {
		return err
	}
	for i, prefixes := range tasks {
		want, err := new(genericCounter).Count(ctx, &board, prefixes, &pulse)
		if err != nil {
			return err
		}
		if got, there := counts[i]; !there || got != want {
			return fmt.Errorf("kernel %s counts %d completions in task %d of %d for n = %d, kernel generic %d: %s", name, got, i, len(tasks), board.N, want, advice)
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
