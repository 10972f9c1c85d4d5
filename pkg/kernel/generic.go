package kernel

import (
	"context"
	"math/bits"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// generic is the reference kernel: a portable depth-first search over bitmasks, written to be read.
// docs/symmetry.md explains it step by step. One thing is added: on the last pollRows rows, a queen
// that leaves one of the next two rows without a free square is dropped.
//
// References: [Richards] M. Richards, "Backtracking algorithms in MCPL using bit
// patterns and recursion", University of Cambridge TR 433, 1997.
var generic = Kernel{Name: "generic", New: func() (Counter, error) {
	return new(genericCounter), nil
}}

// The last pollRows rows are searched without a poll of the context. They are few enough to take
// well under a millisecond, and so many that the time for polls is negligible.
const pollRows = 10

type genericCounter struct {
	Problems
	ctx   context.Context
	pulse *atomic.Uint64
}

func (g *genericCounter) Count(
	ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64,
) (uint64, error) {
	g.ctx, g.pulse = ctx, pulse
	var found uint64
	var buffer [queens.MaxN]Row
	g.Start(b, prefixes)
	for p, states := g.Take(); len(states) > 0 && ctx.Err() == nil; p, states = g.Take() {
		rows, first := p.Rows(buffer[:0]), p.First()
		for _, s := range states {
			if ctx.Err() != nil {
				break
			}
			found += g.search(rows, s.Below(first))
		}
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return found, nil
}

func (*genericCounter) Close() error { return nil }

// search counts the completions of a state of the first row. It stops early when the context
// ends.
func (g *genericCounter) search(rows []Row, s State) uint64 {
	g.pulse.Add(1)
	if len(rows) <= pollRows {
		return CountRows(rows, s)
	}
	var found uint64
	free := rows[0].Allow &^ (s.Cols | s.Left | s.Right)
	for ; free != 0 && g.ctx.Err() == nil; free &= free - 1 {
		queen := free & -free
		child := State{s.Cols | queen, s.Left | queen, s.Right | queen}
		found += g.search(rows[1:], child.Below(int(rows[0].Gap)))
	}
	return found
}

// CountRows counts the completions of a state of the first row: the ways to place a queen on each
// of the rows.
func CountRows(rows []Row, s State) uint64 {
	if len(rows) == 0 {
		return 1
	}
	return searchFree(rows, rows[0].Allow&^(s.Cols|s.Left|s.Right), s.Cols, s.Left, s.Right)
}

// searchFree counts the completions of a state that has the given free squares on the first
// row.
func searchFree(rows []Row, free, cols, left, right uint32) uint64 {
	if len(rows) == 1 {
		return uint64(bits.OnesCount32(free))
	}
	var found uint64
	gap, nextGap := rows[0].Gap&31, rows[1].Gap&31
	for ; free != 0; free &= free - 1 {
		queen := free & -free
		c, l, r := cols|queen, (left|queen)<<gap, (right|queen)>>gap
		next := rows[1].Allow &^ (c | l | r)
		if len(rows) == 2 {
			found += uint64(bits.OnesCount32(next))
		} else if next != 0 && rows[2].Allow&^(c|l<<nextGap|r>>nextGap) != 0 {
			found += searchFree(rows[1:], next, c, l, r)
		}
	}
	return found
}
