package kernel

import (
	"context"
	"math/bits"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// generic is the reference: a depth-first search over bitmasks, written to be
// read, that runs on any machine.
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
		return lower(g.board.Allow[p.Row+1:g.board.N], p.Cols, p.Left, p.Right, free)
	}
	var found uint64
	for ; free != 0 && g.ctx.Err() == nil; free &= free - 1 {
		found += g.upper(p.Place(&g.board, free&-free))
	}
	return found
}

// lower counts the completions of a state with the given free squares. Below are
// the allow masks of the rows under its own. Left may keep bits beyond the board,
// where the masks have none.
//
// Most children die young, so each is looked at before it is searched: it must
// leave a free square on the next row, and on the one after it.
func lower(below []uint32, cols, left, right, free uint32) uint64 {
	var found uint64
	switch len(below) {
	case 0:
		return uint64(bits.OnesCount32(free))
	case 1:
		for ; free != 0; free &= free - 1 {
			queen := free & -free
			c, l, r := cols|queen, (left|queen)<<1, (right|queen)>>1
			found += uint64(bits.OnesCount32(below[0] &^ (c | l | r)))
		}
		return found
	}
	next, after := below[0], below[1]
	for ; free != 0; free &= free - 1 {
		queen := free & -free
		c, l, r := cols|queen, (left|queen)<<1, (right|queen)>>1
		if after&^(c|l<<1|r>>1) == 0 {
			continue
		}
		if squares := next &^ (c | l | r); squares != 0 {
			found += lower(below[1:], c, l, r, squares)
		}
	}
	return found
}
