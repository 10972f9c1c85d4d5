package kernel

import (
	"context"
	"fmt"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// SelfTestN is the side of the largest board that [SelfTest] counts.
const SelfTestN = 12

// SelfTest counts the full boards of side 1 to [SelfTestN] with kernel k and compares the
// counts with the published totals. It takes milliseconds. A process calls it before it
// counts, because the machine or the build may be broken although the test suite passed. The
// error names the kernel, the side and both numbers, or is the cause of ctx.
func SelfTest(ctx context.Context, k Kernel) error {
	counter := k.New()
	var pulse atomic.Uint64
	for n := 1; n <= SelfTestN; n++ {
		board := queens.FullBoard(n)
		got, err := counter.Count(ctx, &board, firstRows(&board), &pulse)
		if err != nil {
			return err
		}
		if known, _ := queens.KnownTotal(n); got != known.Uint64() {
			return fmt.Errorf("kernel %s counts %d solutions for n = %d, the published total is %v: "+
				"this machine or this build is broken, choose another kernel or machine", k.Name, got, n, known)
		}
	}
	return nil
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
