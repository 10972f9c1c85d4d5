package kernel

import (
	"context"
	"math/bits"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// generic is the reference kernel: a portable depth-first search over bitmasks, written to be
// read. It places a queen only where the next two rows keep a free square each.
// docs/bitmasks.md explains it with a picture.
//
// References: [Richards] M. Richards, "Backtracking algorithms in MCPL using bit
// patterns and recursion", University of Cambridge TR 433, 1997.
var generic = Kernel{Name: "generic", New: func() Counter { return new(genericCounter) }}

// pollFreeRows is the number of last rows that are searched without polling the context: few
// enough to take well under a millisecond, many enough to make polling free.
const pollFreeRows = 10

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
			found += g.search(p)
		}
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return found, nil
}

// search counts the completions of p. It stops early when the context ends.
func (g *genericCounter) search(p queens.Prefix) uint64 {
	g.pulse.Add(1)
	free := p.Free(&g.board)
	if p.Row >= g.board.N-pollFreeRows {
		return searchLast(g.board.Allow[p.Row+1:g.board.N], free, p.Cols, p.Left, p.Right)
	}
	var found uint64
	for ; free != 0 && g.ctx.Err() == nil; free &= free - 1 {
		found += g.search(p.Place(&g.board, free&-free))
	}
	return found
}

// searchLast counts the completions of a state whose row has the given free squares. below
// holds the allow masks of the rows below. left may have bits beyond the board; the allow
// masks have none there.
func searchLast(below []uint32, free, cols, left, right uint32) uint64 {
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
			found += searchLast(below[1:], next, c, l, r)
		}
	}
	return found
}
