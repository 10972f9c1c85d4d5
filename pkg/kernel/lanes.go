//go:build (amd64 || arm64) && !purego

package kernel

import (
	"context"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// A search in 16-bit lanes has twice the states in a vector, but holds 16 columns only. On a
// wider board it needs a queen in each outer column first; see window.go. These queens come too
// early for good pruning, and divide the search into many small ones, so that 32-bit lanes are
// faster on wide boards.

// maxOuter is the greatest number of outer columns in need of a queen with which a batch is counted in
// 16-bit lanes. docs/benchmarks.md has the measurements.
const maxOuter = 5

// lanes are the steps of an instruction set in lanes of either width.
type lanes struct {
	name   string                  // of the kernel
	narrow *instructionSet[uint16] // nil if it always counts in 32-bit lanes
	wide   *instructionSet[uint32] // nil if it always counts in 16-bit lanes, which only tests do
}

// kernel returns the kernel that counts with these steps, and chooses the lanes for each batch where it has both.
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
	placed [queens.MaxN]Problem // of placeColumn, by the number of columns that it leaves
}

func (c *vectorCounter) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	c.ctx, c.pulse, c.found = ctx, pulse, 0
	c.Start(b, prefixes)
	p, states := c.Take()
	narrow := c.isNarrow(&p, states)
	for ; len(states) > 0; p, states = c.Take() {
		if narrow && !c.placeOuter(&p, states, 0, b.N) || !narrow && !c.searchBoard(&p, states) {
			return 0, c.cancelled()
		}
	}
	if ctx.Err() != nil {
		return 0, c.cancelled()
	}
	return c.found, nil
}

func (*vectorCounter) Close() error { return nil }

// isNarrow reports whether a batch is counted in 16-bit lanes: its first problem decides.
func (c *vectorCounter) isNarrow(p *Problem, states []State) bool {
	return c.wide == nil || c.narrow != nil && c.outerColumns(p, states) <= maxOuter
}

// cancelled drops the search and returns the cause of the context.
func (c *vectorCounter) cancelled() error {
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
	return c.wide.count(rows, states, view{columns: c.board.Columns(), filled: p.filled, first: p.First()})
}

// searchFew counts the completions of the states with at most two rows left, where a step has
// nothing to do. It returns false if the context has ended.
func (c *vectorCounter) searchFew(rows []Row, states []State, first int) bool {
	for _, s := range states {
		c.found += CountRows(rows, s.Below(first))
	}
	return c.tick()
}
