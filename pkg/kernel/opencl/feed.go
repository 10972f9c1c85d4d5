//go:build opencl && linux

package opencl

import (
	"context"
	"math/bits"
	"slices"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// slots is the greatest number of rows of a problem, as in common.cl.
const slots = 32

// minRows is the least number of rows of a problem that the device searches. The host counts
// problems with fewer rows. With at least three rows no gap is 31, so search.cl can mark the last
// row by a shift of 31.
const minRows = 3

// mostRows is the greatest number of rows of all problems of a task: one problem for each depth
// that leaves enough rows.
const mostRows = slots*(slots+1)/2 - minRows*(minRows-1)/2

// Types of common.cl, with the same layout.
type (
	node  struct{ cols, left, right, free uint32 }
	place struct{ base, task uint32 }
	row   struct{ allow, toLast, columns uint32 }
)

// problem is a problem of a search, and its place in the field rows of the feed.
type problem struct {
	board       *queens.Board
	depth       int
	first, last int // indices of its rows; both 0 if the device does not search it
}

// feed turns the prefixes of tasks into states for the queue, a portion at a time.
type feed struct {
	together int // states of one task that a place in the queue has: 1, or the lanes of a warp
	tasks    []queens.Task
	found    []uint64 // for each task, the completions that the host counts
	task     int      // the task whose states come next
	begun    bool     // the first problem of this task has been taken
	split    kernel.Problems
	states   []kernel.State // states of the problem that are still to come
	above    int            // rows from the states' row down to the problem's first row
	current  problem
	buffer   [queens.MaxN]kernel.Row
	problems []problem
	rows     [mostRows]row
	filled   int // rows of all problems so far
}

// start begins with the first of the tasks. The slice found must have an element for each task.
func (f *feed) start(tasks []queens.Task, found []uint64) {
	f.tasks, f.found = tasks, found
	f.task, f.begun, f.states, f.problems, f.filled = 0, false, nil, f.problems[:0], 0
}

// ended reports whether no state is still to come.
func (f *feed) ended() bool { return f.task == len(f.tasks) }

// fill sets the first elements of nodes and places to the next states, and returns their number: 0
// after the last state. It stops early when the context ends. The length of nodes must be a
// multiple of the field together. If states of a place are missing, states without a free square
// fill it up.
func (f *feed) fill(ctx context.Context, nodes []node, places []place) int {
	n := 0
	for f.task < len(f.tasks) && ctx.Err() == nil {
		if !f.begun {
			f.split.Start(&f.tasks[f.task].Board, f.tasks[f.task].Prefixes)
			f.begun, f.found[f.task] = true, 0
			f.next()
			continue
		}
		allow := f.rows[f.current.first].allow
		for ; len(f.states) > 0; f.states = f.states[1:] {
			s := f.states[0].Below(f.above)
			free := allow &^ (s.Cols | s.Left | s.Right)
			if free == 0 {
				continue
			}
			if n == len(nodes) {
				return n
			}
			if n%f.together == 0 {
				places[n/f.together] = place{f.base(s), uint32(f.task)}
			}
			nodes[n] = node{s.Cols, s.Left, s.Right, free}
			n++
		}
		for ; n%f.together != 0; n++ {
			nodes[n] = node{}
		}
		f.next()
	}
	return n
}

// base returns the base of a state of the current problem's first row, as search.cl and warps.cl
// need it.
func (f *feed) base(s kernel.State) uint32 {
	if f.together > 1 {
		return uint32(f.current.last)
	}
	return uint32(f.current.first - bits.OnesCount32(s.Cols))
}

// next takes the next problem of the task that the device searches, or ends the task.
func (f *feed) next() {
	p, states := f.split.Take()
	if len(states) == 0 {
		f.task++
		f.begun = false
		return
	}
	rows := p.Rows(f.buffer[:0])
	if len(rows) < minRows {
		for _, s := range states {
			f.found[f.task] += kernel.CountRows(rows, s.Below(p.First()))
		}
		return
	}
	f.states, f.above, f.current = states, p.First(), f.find(&p, rows)
}

// find returns the problem with its place in the rows. It adds the rows of a new problem.
func (f *feed) find(p *kernel.Problem, rows []kernel.Row) problem {
	board := &f.tasks[f.task].Board
	for _, known := range slices.Backward(f.problems) {
		if known.depth == p.Depth && (known.board == board || *known.board == *board) {
			return known
		}
	}
	added := problem{board, p.Depth, f.filled, f.filled + len(rows) - 1}
	toLast, columns := uint32(0), board.Columns()&^p.Filled()
	for i, r := range slices.Backward(rows) {
		toLast += r.Gap
		f.rows[added.first+i] = row{r.Allow, toLast, columns}
	}
	f.filled += len(rows)
	f.problems = append(f.problems, added)
	return added
}

// sizes bound the problems of a search.
type sizes struct {
	rows int // of all problems
	most int // of a problem
}

// bounds finds the sizes of the problems of tasks. Its field prefixes has the boards so far, each
// with the numbers of rows of its prefixes, one bit each.
type bounds struct {
	sizes
	prefixes []depthsOf
}

type depthsOf struct {
	board  *queens.Board
	depths uint64
}

func (b *bounds) reset() { b.sizes, b.prefixes = sizes{}, b.prefixes[:0] }

// add adds a task.
func (b *bounds) add(t *queens.Task) {
	var depths uint64
	for i := range t.Prefixes {
		depths |= 1 << t.Prefixes[i].Row
	}
	i := len(b.prefixes) - 1
	for i >= 0 && *b.prefixes[i].board != t.Board {
		i--
	}
	if i < 0 {
		i = len(b.prefixes)
		b.prefixes = append(b.prefixes, depthsOf{board: &t.Board})
	}
	for added := depths &^ b.prefixes[i].depths; added != 0; added &= added - 1 {
		if rows := t.Board.N - bits.TrailingZeros64(added); rows >= minRows {
			b.rows, b.most = b.rows+rows, max(b.most, rows)
		}
	}
	b.prefixes[i].depths |= depths
}
