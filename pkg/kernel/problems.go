package kernel

import (
	"math/bits"

	"nqueens/pkg/queens"
)

// MinRows is the least number of rows of a problem of [Problems].
const MinRows = 2

// Problems splits prefixes into problems for kernels of other packages, as the kernels of this one do
// it: the rows that allow a single square have their queen. It holds its memory, and does not allocate.
type Problems struct {
	// Found is the number of completions that Next has found itself since Start: those of states with
	// fewer than MinRows rows left.
	Found uint64

	all    problems
	now    problem
	states []State
	rows   [queens.MaxN]Row
}

// Start begins with prefixes of a board.
func (p *Problems) Start(b *queens.Board, prefixes []queens.Prefix) {
	p.Found = 0
	p.all.start(b, prefixes)
}

// Next advances to the next problem. It returns false after the last.
func (p *Problems) Next() bool {
	for {
		if p.now, p.states = p.all.take(); len(p.states) == 0 {
			return false
		}
		if bits.OnesCount32(p.now.open) >= MinRows {
			return true
		}
		rows := p.now.rows(p.rows[:0])
		for _, s := range p.states {
			p.Found += searchRows(rows, s.below(p.now.first()))
		}
	}
}

// Depth returns the number of rows above the problem's. Problems of one board and depth differ in their
// states only.
func (p *Problems) Depth() int { return p.now.depth }

// Rows appends the rows of the problem to a slice, from the top down: [MinRows] to [queens.MaxN].
func (p *Problems) Rows(to []Row) []Row { return p.now.rows(to) }

// States returns the number of states of the problem, at most [queens.MaxBatch].
func (p *Problems) States() int { return len(p.states) }

// State returns a state of the problem, in its first row.
func (p *Problems) State(i int) State { return p.states[i].below(p.now.first()) }
