package split

import (
	"context"
	"math/bits"
	"slices"
	"sort"

	"nqueens/pkg/queens"
)

// Index finds the tasks of a manifest in any order. It holds about 4 MiB for 10^7 tasks, and finds a task
// in about a microsecond. Any number of goroutines may use it at a time.
type Index struct{ classes []classIndex }

// classIndex has a mark every few tasks of a class. A mark is the place of a task's first prefix: the
// columns of its queens, a byte for each row.
type classIndex struct {
	board    queens.Board
	depth    int
	batch    uint64
	first    uint64 // id of the first task
	tasks    uint64
	prefixes uint64
	spacing  uint64 // tasks from a mark to the next
	marks    []byte // depth bytes each
}

// markPrefixes is the greatest number of prefixes from a mark to the next, unless a task has more. More
// would save memory, and finding a task would take longer.
const markPrefixes = 512

// NewIndex passes over the prefixes of a manifest once. If ctx ends, it returns its cause.
func NewIndex(ctx context.Context, m *queens.Manifest) (*Index, error) {
	x := &Index{classes: make([]classIndex, 0, len(m.Classes))}
	for i := range m.Classes {
		plan := &m.Classes[i]
		c := classIndex{
			board: plan.Board, depth: plan.Depth, batch: uint64(plan.Batch), first: x.Tasks(),
			spacing: uint64(max(markPrefixes/plan.Batch, 1)),
		}
		if err := c.fill(ctx); err != nil {
			return nil, err
		}
		x.classes = append(x.classes, c)
	}
	return x, nil
}

// fill counts the tasks and the prefixes of the class, and makes the marks.
func (c *classIndex) fill(ctx context.Context) error {
	for w := newWalk(&c.board, c.depth); w.advance(); {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.marks = w.appendMark(c.marks)
		c.prefixes += uint64(w.skip(int(c.spacing * c.batch)))
	}
	c.tasks = (c.prefixes + c.batch - 1) / c.batch
	return nil
}

// end returns the id after the last task of the class.
func (c *classIndex) end() uint64 { return c.first + c.tasks }

// Tasks returns the number of tasks.
func (x *Index) Tasks() uint64 {
	if len(x.classes) == 0 {
		return 0
	}
	return x.classes[len(x.classes)-1].end()
}

// Task returns the task of an id, as [Tasks] yields it, and whether there is one.
func (x *Index) Task(id uint64) (queens.Task, bool) {
	tasks := x.Range(id, 1)
	if len(tasks) == 0 {
		return queens.Task{}, false
	}
	return tasks[0], true
}

// Range returns up to that many tasks from the id first on, as [Tasks] yields them: fewer where the tasks
// of the manifest end. The prefixes of the tasks of a class share an array that no later call overwrites.
func (x *Index) Range(first uint64, tasks int) []queens.Task {
	all := x.Tasks()
	if tasks <= 0 || first >= all {
		return nil
	}
	end := first + min(uint64(tasks), all-first)
	found := make([]queens.Task, 0, end-first)
	class := sort.Search(len(x.classes), func(i int) bool { return x.classes[i].end() > first })
	for ; first < end; class++ {
		c := &x.classes[class]
		last := min(end, c.end())
		if first == last {
			continue // a class without tasks
		}
		prefixes := make([]queens.Prefix, 0, min((last-c.first)*c.batch, c.prefixes)-(first-c.first)*c.batch)
		w := c.walkTo(first)
		for ; first < last; first++ {
			begin := len(prefixes)
			prefixes = w.take(prefixes, begin+int(c.batch))
			found = append(found, queens.Task{ID: first, Board: c.board, Prefixes: slices.Clip(prefixes[begin:])})
		}
	}
	return found
}

// walkTo returns a walk at a task of the class.
func (c *classIndex) walkTo(id uint64) (w walk) {
	mark := (id - c.first) / c.spacing
	w.resume(&c.board, c.marks[int(mark)*c.depth:][:c.depth])
	w.skip(int((id - c.first - mark*c.spacing) * c.batch))
	return w
}

// Batch returns the prefixes of a task that begins with that of the queens on these columns, one in each row.
func Batch(plan *queens.ClassPlan, columns []byte) []queens.Prefix {
	var w walk
	w.resume(&plan.Board, columns)
	return w.take(nil, plan.Batch)
}

// appendMark appends the columns of the next prefix's queens. The walk must have advanced to it.
func (w *walk) appendMark(marks []byte) []byte {
	for row := range w.row {
		queen := w.above[row+1].Cols &^ w.above[row].Cols
		marks = append(marks, byte(bits.TrailingZeros32(queen)))
	}
	if w.depth > 0 {
		marks = append(marks, byte(bits.TrailingZeros32(w.free[w.row])))
	}
	return marks
}

// resume moves the walk to the prefix with queens on these columns.
func (w *walk) resume(b *queens.Board, columns []byte) {
	w.board, w.depth = *b, len(columns)
	w.row, w.ended, w.above[0] = max(len(columns)-1, 0), false, queens.Prefix{}
	for row, column := range columns {
		queen := uint32(1) << column
		w.free[row] = w.above[row].Free(&w.board) &^ (queen - 1) // the squares before have been passed over
		if row < w.row {
			w.free[row] &^= queen
			w.above[row+1] = w.above[row].Place(&w.board, queen)
		}
	}
}
