package kernel

import (
	"math/bits"

	"nqueens/pkg/queens"
)

// Every kernel, also that of package opencl, searches problems. A problem is the rest of a search
// below prefixes of one depth, after each row with a single allowed square has got its queen.

// State is the state of a search: the columns attacked in one row, as in [queens.Prefix]. Left may
// have bits beyond the board; no [Row] allows a square there.
type State struct{ Cols, Left, Right uint32 }

// Below returns the state moved down by 0 to 31 rows, without new queens.
func (s State) Below(rows int) State {
	return State{s.Cols, s.Left << (rows & 31), s.Right >> (rows & 31)}
}

// Problem is the rest of a search below prefixes of one depth: the rows that still need a queen,
// and the squares that these rows allow.
type Problem struct {
	// for each open row, the allowed squares that the queens of filled do not attack
	allow  [queens.MaxN]uint32
	open   uint32 // the rows that need a queen, one bit each
	Depth  int    // the row of the states, which is the number of rows of the prefixes
	filled uint32 // columns of the queens that were placed on rows from Depth on
}

// newProblem returns a problem for prefixes of the given depth. All rows of b below the prefixes
// are open.
func newProblem(b *queens.Board, depth int) Problem {
	return Problem{allow: b.Allow, open: uint32(1<<uint(b.N) - 1<<uint(depth)), Depth: depth}
}

// place puts a queen on an open row. It reports whether every other open row keeps an allowed
// square.
func (p *Problem) place(row int, square uint32) bool {
	p.open &^= 1 << row
	p.filled |= square
	solvable := true
	for rest := p.open; rest != 0; rest &= rest - 1 {
		other := bits.TrailingZeros32(rest) & 31
		distance := max(other-row, row-other) & 31
		p.allow[other] &^= square | square<<distance | square>>distance
		solvable = solvable && p.allow[other] != 0
	}
	return solvable
}

// placeForced puts queens on the open rows that allow a single square, until no such row is left.
// It moves the states that attack none of these queens to the front, and returns them. It returns
// none if an open row allows no square.
func (p *Problem) placeForced(states []State) []State {
	for again := true; again; {
		again = false
		for rest := p.open; rest != 0; rest &= rest - 1 {
			row := bits.TrailingZeros32(rest)
			square := p.allow[row]
			if square&(square-1) != 0 {
				continue
			}
			if square == 0 || !p.place(row, square) {
				return nil
			}
			states = states[:p.compatible(states, row, square)]
			again = true
		}
	}
	return states
}

// compatible moves the states that do not attack the given square of a row to the front. It returns
// how many they are.
func (p *Problem) compatible(states []State, row int, square uint32) int {
	left, right := square>>((row-p.Depth)&31), square<<((row-p.Depth)&31)
	return partition(states, func(s State) bool {
		return s.Cols&square|s.Left&left|s.Right&right == 0
	})
}

// partition reorders the states so that those that meet the condition come first, and returns their
// number.
func partition(states []State, condition func(State) bool) int {
	n := 0
	for i, s := range states {
		states[i], states[n] = states[n], s
		if condition(s) {
			n++
		}
	}
	return n
}

// Row is an open row of a problem: it needs a queen.
type Row struct {
	Allow uint32 // the columns where the queen may stand
	Gap   uint32 // the distance to the next open row, 1 to 31; 0 for the last open row
}

// Rows appends the open rows to a slice, from the top down.
func (p *Problem) Rows(to []Row) []Row {
	for rest := p.open; rest != 0; {
		row := bits.TrailingZeros32(rest)
		rest &= rest - 1
		r := Row{Allow: p.allow[row]}
		if rest != 0 {
			r.Gap = uint32(bits.TrailingZeros32(rest) - row)
		}
		to = append(to, r)
	}
	return to
}

// Filled returns the columns of the queens on rows with a single allowed square.
func (p *Problem) Filled() uint32 { return p.filled }

// First returns the number of rows from the states' row to the first open row. If no row is open,
// the number means nothing.
func (p *Problem) First() int { return bits.TrailingZeros32(p.open) - p.Depth }

// Problems splits a batch of prefixes into problems. All prefixes of a problem have the same depth.
// In a problem, each row with a single allowed square has got its queen.
type Problems struct {
	board    *queens.Board
	prefixes []queens.Prefix
	depths   uint64 // depths that are still to come, one bit each
	next     int    // the first prefix that Take has not looked at for the lowest of these depths
	states   [queens.MaxBatch]State
}

// Start sets the batch that Take splits.
func (q *Problems) Start(b *queens.Board, prefixes []queens.Prefix) {
	q.board, q.prefixes, q.depths, q.next = b, prefixes, 0, 0
	for _, p := range prefixes {
		q.depths |= 1 << p.Row
	}
}

// Take returns the next problem and its states, at most [queens.MaxBatch]. The states are valid
// until the next call. After the last problem it returns no states.
func (q *Problems) Take() (Problem, []State) {
	for q.depths != 0 {
		depth := bits.TrailingZeros64(q.depths)
		n := 0
		for ; q.next < len(q.prefixes) && n < len(q.states); q.next++ {
			if p := &q.prefixes[q.next]; p.Row == depth {
				q.states[n] = State{p.Cols, p.Left, p.Right}
				n++
			}
		}
		if q.next == len(q.prefixes) {
			q.depths &= q.depths - 1
			q.next = 0
		}
		p := newProblem(q.board, depth)
		if states := p.placeForced(q.states[:n]); len(states) > 0 {
			return p, states
		}
	}
	return Problem{}, nil
}
