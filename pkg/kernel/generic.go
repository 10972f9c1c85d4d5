package kernel

import (
	"context"
	"math/bits"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// generic is the reference: a depth-first search over bitmasks, written to be
// read, that runs on any machine. A queen is placed only where it leaves the next
// row a free square, and the one after it. docs/bitmasks.md explains it, with a picture.
//
// References: [Richards] M. Richards, "Backtracking algorithms in MCPL using bit
// patterns and recursion", University of Cambridge TR 433, 1997.
var generic = Kernel{Name: "generic", New: func() Counter { return new(genericCounter) }}

// unchecked is the number of last rows searched without a look at the context:
// few enough to take well under a millisecond, many enough for the look to cost
// nothing.
const unchecked = 10

type genericCounter struct {
	ctx   context.Context
	pulse *atomic.Uint64
	board queens.Board
}

func (g *genericCounter) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	g.ctx, g.pulse, g.board = ctx, pulse, *b
	var found uint64
	for _, p := range prefixes {
		if ctx.Err() != nil {
			break
		}
		if p.Row == b.N {
			found++
		} else {
			found += g.upper(p)
		}
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return found, nil
}

// upper searches from p, and gives up when the context ends.
func (g *genericCounter) upper(p queens.Prefix) uint64 {
	g.pulse.Add(1)
	free := p.Free(&g.board)
	if p.Row >= g.board.N-unchecked {
		return lower(g.board.Allow[p.Row+1:g.board.N], free, p.Cols, p.Left, p.Right)
	}
	var found uint64
	for ; free != 0 && g.ctx.Err() == nil; free &= free - 1 {
		found += g.upper(p.Place(&g.board, free&-free))
	}
	return found
}

// lower counts the completions of a state with those free squares in its row. Below
// are the allow masks of the rows below it. Left may keep bits beyond the board:
// the allow masks have none there.
func lower(below []uint32, free, cols, left, right uint32) uint64 {
	if len(below) == 0 {
		return uint64(bits.OnesCount32(free))
	}
	var found uint64
	for ; free != 0; free &= free - 1 {
		queen := free & -free
		c, l, r := cols|queen, (left|queen)<<1, (right|queen)>>1
		next := below[0] &^ (c | l | r)
		if len(below) == 1 {
			found += uint64(bits.OnesCount32(next))
		} else if next != 0 && below[1]&^(c|l<<1|r>>1) != 0 {
			found += lower(below[1:], next, c, l, r)
		}
	}
	return found
}
