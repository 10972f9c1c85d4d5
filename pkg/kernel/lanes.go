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

// kernelsByLanes returns the kernels of an instruction set, the fastest first: one with its name
// that chooses the lanes for each batch, and one for each width that always counts in those.
// narrow is nil if the machine has no steps in 16-bit lanes; narrowTo is the largest side of a board that
// they search as fast as the kernels of the next instruction set do.
func kernelsByLanes(name string, narrowTo int, narrow *instructionSet[uint16], wide *instructionSet[uint32]) []Kernel {
	both := vectorKernel(name, name, narrow, wide)
	both.countsAs = []string{name + "-16", name + "-32"}
	kernels := []Kernel{both}
	if narrow != nil {
		alone := vectorKernel(name+"-16", name, narrow, nil)
		alone.fastTo = narrowTo
		kernels = append(kernels, alone)
	}
	return append(kernels, vectorKernel(name+"-32", name, nil, wide))
}

// Values of narrowTo, where the next instruction set has vectors and where it has none. Decision 21 has
// measurements.
const (
	beforeVectors = 22
	beforeGeneric = 26
)

// vectorKernel returns a kernel of that name. narrow or wide is nil for a kernel that always counts in
// the other lanes. set is the name of the instruction set.
func vectorKernel(name, set string, narrow *instructionSet[uint16], wide *instructionSet[uint32]) Kernel {
	return Kernel{Name: name, New: func() (Counter, error) {
		c := &vectorCounter{last: name, narrowName: set + "-16", wideName: set + "-32"}
		if narrow != nil {
			c.narrow = newSearch(narrow, &c.call, windowColumns)
		}
		if wide != nil {
			c.wide = newSearch(wide, &c.call, queens.MaxN)
		}
		return c, nil
	}}
}

// vectorCounter counts with the steps of one instruction set.
type vectorCounter struct {
	problems
	call
	narrow *search[uint16] // nil if it always counts in 32-bit lanes
	wide   *search[uint32] // nil if it always counts in 16-bit lanes
	rows   [queens.MaxN]openRow
	placed [queens.MaxN]problem // of placeColumn, by the number of columns that it leaves

	narrowName, wideName string // of the kernels that always count in those lanes
	last                 string // name of the kernel that did the last Count
}

func (c *vectorCounter) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	c.ctx, c.pulse, c.found = ctx, pulse, 0
	c.start(b, prefixes)
	p, states := c.take()
	narrow := c.wide == nil || c.narrow != nil && c.outerColumns(&p, states) <= c.narrow.outer
	for ; len(states) > 0; p, states = c.take() {
		if narrow && !c.placeOuter(&p, states, 0, b.N) || !narrow && !c.searchBoard(&p, states) {
			return 0, c.cancelled()
		}
	}
	if ctx.Err() != nil {
		return 0, c.cancelled()
	}
	if c.last = c.wideName; narrow {
		c.last = c.narrowName
	}
	return c.found, nil
}

func (c *vectorCounter) LastKernel() string { return c.last }
func (*vectorCounter) Close() error         { return nil }

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
func (c *vectorCounter) searchBoard(p *problem, states []state) bool {
	rows := p.rows(c.rows[:0])
	if len(rows) < 3 {
		return c.searchFew(rows, states, p.first())
	}
	return c.wide.count(rows, states, view{columns: c.board.Columns(), filled: p.filled, first: p.first()})
}

// searchFew counts the completions of the states with at most two rows left, where a step has
// nothing to do. It returns false if the context has ended.
func (c *vectorCounter) searchFew(rows []openRow, states []state, first int) bool {
	for _, s := range states {
		c.found += searchRows(rows, s.below(first))
	}
	return c.tick()
}
