//go:build opencl && linux

package opencl

import (
	"context"
	"math/bits"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// slots is the greatest number of rows of a problem, as in search.cl. A problem with fewer rows takes the last slots.
const slots = 32

// maxProblems is the greatest number of problems of a board: one for each depth from 0 that leaves
// enough rows.
const maxProblems = queens.MaxN - minRows + 1

// minRows is the least number of rows of a problem that the device searches. The host counts problems with fewer rows. With at
// least three rows no gap is 31, so search.cl can mark the last row by a shift of 31.
const minRows = 3

// Types of search.cl, with the same layout.
type (
	node  struct{ cols, left, right, free uint32 }
	place struct{ base, task uint32 }
	row   struct{ below, gap uint32 }
)

// feed turns the prefixes of tasks into states for the queue, a portion at a time.
type feed struct {
	board    *queens.Board
	tasks    [][]queens.Prefix
	found    []uint64 // for each task, the completions that the host counts
	task     int      // the task whose states come next
	begun    bool     // the first problem of this task has been taken
	split    kernel.Problems
	states   []kernel.State // states of the problem that are still to come
	above    int            // rows from the states' row down to the problem's first row
	base     uint32         // index of the problem's first row in the field rows
	allow    uint32         // squares that this row allows
	buffer   [queens.MaxN]kernel.Row
	numbers  [queens.MaxN + 1]int // for each depth the number of its problem, from 1
	problems int
	first    int // the first slot that any problem uses
	rows     [maxProblems * slots]row
}

// start begins with the first of the tasks. The slice found must have an element for each task.
func (f *feed) start(b *queens.Board, tasks [][]queens.Prefix, found []uint64) {
	f.board, f.tasks, f.found = b, tasks, found
	f.task, f.begun, f.states, f.problems, f.first = 0, false, nil, 0, slots
	f.numbers = [queens.MaxN + 1]int{}
}

// ended reports whether no state is still to come.
func (f *feed) ended() bool { return f.task == len(f.tasks) }

// fill sets the first elements of nodes and places to the next states, and returns their number: 0 after the last state. It
// stops early when the context ends.
func (f *feed) fill(ctx context.Context, nodes []node, places []place) int {
	n := 0
	for f.task < len(f.tasks) && ctx.Err() == nil {
		if !f.begun {
			f.split.Start(f.board, f.tasks[f.task])
			f.begun, f.found[f.task] = true, 0
			f.next()
			continue
		}
		for ; len(f.states) > 0; f.states = f.states[1:] {
			if n == len(nodes) {
				return n
			}
			s := f.states[0].Below(f.above)
			if free := f.allow &^ (s.Cols | s.Left | s.Right); free != 0 {
				nodes[n] = node{s.Cols, s.Left, s.Right, free}
				places[n] = place{f.base - uint32(bits.OnesCount32(s.Cols)), uint32(f.task)}
				n++
			}
		}
		f.next()
	}
	return n
}

// next takes the next problem of the task, or ends the task.
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
	slot := slots - len(rows)
	if f.numbers[p.Depth] == 0 {
		f.problems++
		f.numbers[p.Depth] = f.problems
		f.first = min(f.first, slot)
		to := f.rows[(f.problems-1)*slots+slot : f.problems*slots]
		for i, r := range rows[:len(rows)-1] {
			to[i] = row{rows[i+1].Allow, r.Gap}
		}
		to[len(to)-1] = row{}
	}
	f.states, f.above = states, p.First()
	f.base = uint32((f.numbers[p.Depth]-1)*slots + slot)
	f.allow = rows[0].Allow
}
