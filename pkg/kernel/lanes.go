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

// kernelsByLanes returns the kernels of an instruction set: one with its name, which chooses the lanes for
// each batch; one for each width that always counts in those lanes; and last one that counts again what was
// counted in 32-bit lanes, with other steps. narrow is nil if the machine has no steps in 16-bit lanes.
func kernelsByLanes(name string, narrow *instructionSet[uint16], wide *instructionSet[uint32]) []Kernel {
	in16, in32, again := name+"-16", name+"-32", name+"-32-alt"
	both := vectorKernel(name, in16, in32, narrow, wide)
	both.countsAs = []string{in16, in32}
	kernels := []Kernel{both}
	if narrow != nil {
		alone := vectorKernel(in16, in16, "", narrow, nil)
		alone.fastTo = narrowFastTo
		kernels = append(kernels, alone)
	}
	others := *wide
	others.steps = wide.alternates
	return append(kernels,
		vectorKernel(in32, "", in32, nil, wide),
		vectorKernel(again, "", again, nil, &others))
}

// narrowFastTo is the largest side of a board on which 16-bit lanes recount in less than twice the time what
// was counted in 32-bit lanes. Decision 21 has measurements.
const narrowFastTo = 22

// maxOuter is the greatest number of outer columns in need of a queen with which a kernel that chooses its
// lanes takes those of 16 bits. Decision 56 has measurements.
const maxOuter = 5

// vectorKernel returns a kernel of that name, whose LastKernel returns in16 or in32 after a count in those
// lanes. narrow or wide is nil for a kernel that always counts in the other lanes.
func vectorKernel(name, in16, in32 string, narrow *instructionSet[uint16], wide *instructionSet[uint32]) Kernel {
	return Kernel{Name: name, New: func() (Counter, error) {
		c := &vectorCounter{last: name, in16: in16, in32: in32}
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
	Problems
	call
	narrow *search[uint16] // nil if it always counts in 32-bit lanes
	wide   *search[uint32] // nil if it always counts in 16-bit lanes
	rows   [queens.MaxN]Row
	placed [queens.MaxN]Problem // of placeColumn, by the number of columns that it leaves

	in16, in32 string // what LastKernel returns after a count in those lanes
	last       string // name of the kernel that did the last Count
}

func (c *vectorCounter) Count(ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	c.ctx, c.pulse, c.found = ctx, pulse, 0
	c.Start(b, prefixes)
	p, states := c.Take()
	narrow := c.wide == nil || c.narrow != nil && c.outerColumns(&p, states) <= maxOuter
	for ; len(states) > 0; p, states = c.Take() {
		if narrow && !c.placeOuter(&p, states, 0, b.N) || !narrow && !c.searchBoard(&p, states) {
			return 0, c.cancelled()
		}
	}
	if ctx.Err() != nil {
		return 0, c.cancelled()
	}
	if c.last = c.in32; narrow {
		c.last = c.in16
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
