//go:build (amd64 || arm64) && !purego

package kernel

import (
	"context"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// A vector holds twice as many states in 16-bit lanes as in 32-bit lanes, but a 16-bit lane has
// only 16 columns. On a wider board, the search must first place the queens of the outer columns;
// see window.go. Placing them prunes little and divides the search into many small ones, so 32-bit
// lanes are faster on wide boards.

// maxOuter decides the width of lanes: a batch is counted in 16-bit lanes if at most this many
// outer columns need a queen. With 5 outer columns, 16-bit lanes take 0.82 (n = 21) and 1.03 (n =
// 22) of the time of 32-bit lanes, with 6 (n = 22) 1.12, with 7 (n = 23) 1.79 (avx512, Zen 5).
const maxOuter = 5

// lanes has the steps of an instruction set, for lanes of either width.
type lanes struct {
	name   string                  // name of the kernel
	narrow *instructionSet[uint16] // nil if the kernel always counts in 32-bit lanes
	// nil if the kernel always counts in 16-bit lanes; only tests have such kernels
	wide *instructionSet[uint32]
}

// kernel returns the kernel that counts with these steps. If there are steps for both widths, it
// chooses the width for each batch.
func (l lanes) kernel() Kernel {
	return Kernel{Name: l.name, New: func() (Counter, error) {
		c := new(vectorCounter)
		if l.narrow != nil {
			c.narrow = newSearch(l.narrow, &c.call, windowColumns)
		}
		if l.wide != nil {
			c.wide = newSearch(l.wide, &c.call, queens.MaxN)
		}
		return c, nil
	}}
}

// vectorKernels returns the vector kernels that this machine can run, the fastest first.
func vectorKernels() (kernels []Kernel) {
	for _, l := range instructionSets() {
		kernels = append(kernels, l.kernel())
	}
	return kernels
}

// vectorCounter counts with the steps of one instruction set.
type vectorCounter struct {
	Problems
	call
	narrow *search[uint16] // nil if it always counts in 32-bit lanes
	wide   *search[uint32] // nil if it always counts in 16-bit lanes
	rows   [queens.MaxN]Row
	placed [queens.MaxN]Problem // buffers of placeColumn, by the number of remaining columns
}

func (c *vectorCounter) Count(
	ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64,
) (uint64, error) {
	c.ctx, c.pulse, c.found = ctx, pulse, 0
	c.Start(b, prefixes)
	p, states := c.Take()
	narrow := c.isNarrow(&p, states)
	for ; len(states) > 0; p, states = c.Take() {
		if narrow && !c.placeOuter(&p, states, 0, b.N) || !narrow && !c.searchBoard(&p, states) {
			return 0, c.canceled()
		}
	}
	if ctx.Err() != nil {
		return 0, c.canceled()
	}
	return c.found, nil
}

func (*vectorCounter) Close() error { return nil }

// isNarrow reports whether to count a batch in 16-bit lanes. p and states are its first problem,
// which decides for the whole batch.
func (c *vectorCounter) isNarrow(p *Problem, states []State) bool {
	return c.wide == nil || c.narrow != nil && c.outerColumns(p, states) <= maxOuter
}

// canceled removes all states from the queues and returns context.Cause(c.ctx).
func (c *vectorCounter) canceled() error {
	if c.narrow != nil {
		c.narrow.clear()
	}
	if c.wide != nil {
		c.wide.clear()
	}
	return context.Cause(c.ctx)
}

// searchBoard counts the completions of the states in 32-bit lanes. It returns false if the
// context has ended.
func (c *vectorCounter) searchBoard(p *Problem, states []State) bool {
	rows := p.Rows(c.rows[:0])
	if len(rows) < 3 {
		return c.searchFew(rows, states, p.First())
	}
	return c.wide.count(rows, states,
		view{columns: c.board.Columns(), filled: p.filled, first: p.First()})
}

// searchFew counts the completions of states with at most two rows left, which are too few for a
// step. It returns false if the context has ended.
func (c *vectorCounter) searchFew(rows []Row, states []State, first int) bool {
	for _, s := range states {
		c.found += CountRows(rows, s.Below(first))
	}
	return c.tick()
}
