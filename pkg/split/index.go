package split

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"

	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
)

// Index makes the tasks of a manifest, in any order. It holds about 5 MiB for 10^7 tasks, and finds a task
// in about a microsecond. Any number of goroutines may use it at a time.
type Index struct {
	classes []classIndex
	tasks   uint64
}

// classIndex has a mark every few prefixes of a class. A mark is the place of a prefix: the columns of its
// queens, a byte for each row.
type classIndex struct {
	queens.ClassPlan
	tasks uint64
	marks marks
}

// marks are marks of consecutive prefixes.
type marks struct {
	prefixes uint64
	at       []uint64 // number of the prefix of each mark, from 0
	columns  []byte   // Depth bytes for each mark
}

// markPrefixes is the greatest number of prefixes from a mark to the next, unless a task has more. More would
// save memory, and finding a task would take longer.
const markPrefixes = 512

// NewIndex passes over the prefixes of a manifest once, on all cores, which takes half a core-second for 10^7
// tasks. It numbers the tasks itself. If ctx ends, it returns its cause. The error wraps [ErrTooLarge] if there are
// too many tasks.
func NewIndex(ctx context.Context, m *queens.Manifest) (*Index, error) {
	return newIndex(ctx, m.Classes, MaxTasks)
}

// newIndex is [NewIndex] of at most that many tasks.
func newIndex(ctx context.Context, plans []queens.ClassPlan, most uint64) (*Index, error) {
	x := &Index{classes: make([]classIndex, len(plans))}
	for i := range plans {
		x.classes[i].ClassPlan = plans[i]
	}
	passed := uint64(0)
	tooLarge := func() error {
		return fmt.Errorf("%w: more than %d tasks, or %d prefixes", ErrTooLarge, most, uint64(maxPrefixes))
	}
	err := parallel.InOrder(ctx, x.sections(), func(ctx context.Context, s section) (section, error) {
		batch := x.classes[s.class].Batch
		for s.walk.advance() {
			if ctx.Err() != nil {
				return s, context.Cause(ctx)
			}
			s.marks.at = append(s.marks.at, s.marks.prefixes)
			s.marks.columns = s.walk.appendColumns(s.marks.columns)
			s.marks.prefixes += uint64(s.walk.skip(max(markPrefixes, batch)))
			if max(s.marks.prefixes, s.walk.steps) > maxPrefixes || s.marks.prefixes > most*uint64(batch) {
				return s, tooLarge()
			}
		}
		return s, nil
	}, func(s section) error {
		x.classes[s.class].add(&s.marks)
		x.number()
		if passed += max(s.marks.prefixes, s.walk.steps); passed > maxPrefixes || x.tasks > most {
			return tooLarge()
		}
		return nil
	})
	x.number()
	return x, err
}

// section is the prefixes of a class that begin with the same queens: on two rows, or on one where a class takes milliseconds.
type section struct {
	class int
	walk  walk
	marks marks
}

// sections divides the prefixes of all classes, in order.
func (x *Index) sections() iter.Seq[section] {
	return func(yield func(section) bool) {
		for i := range x.classes {
			plan := &x.classes[i].ClassPlan
			for w := newWalk(&plan.Board, min(max(plan.Depth-5, 1), 2)); w.advance(); w.skip(1) {
				board := plan.Board
				for row, column := range w.appendColumns(nil) {
					board.Allow[row] = 1 << column
				}
				if !yield(section{class: i, walk: *newWalk(&board, plan.Depth)}) {
					return
				}
			}
		}
	}
}

// add adds the prefixes of the next section.
func (c *classIndex) add(section *marks) {
	for _, at := range section.at {
		c.marks.at = append(c.marks.at, c.marks.prefixes+at)
	}
	c.marks.columns = append(c.marks.columns, section.columns...)
	c.marks.prefixes += section.prefixes
	c.tasks = (c.marks.prefixes + uint64(c.Batch) - 1) / uint64(c.Batch)
}

// number numbers the tasks.
func (x *Index) number() {
	x.tasks = 0
	for i := range x.classes {
		x.classes[i].First = x.tasks
		x.tasks += x.classes[i].tasks
	}
}

// end returns the id after the last task of the class.
func (c *classIndex) end() uint64 { return c.First + c.tasks }

// Tasks returns the number of tasks.
func (x *Index) Tasks() uint64 { return x.tasks }

// TaskPrefixes returns the most prefixes of a task of a class: fewer than its batch if the class has fewer.
func (x *Index) TaskPrefixes(class int) int {
	c := &x.classes[class]
	return int(min(uint64(c.Batch), c.marks.prefixes))
}

// Range returns up to that many tasks from the id first on, with Run empty: fewer where the tasks of the manifest
// end. Tasks may share an array of prefixes, which no later call overwrites.
func (x *Index) Range(first uint64, tasks int) []queens.Task {
	var b buffer
	if tasks > 0 && first < x.tasks {
		b.fill(x, first, first+min(uint64(tasks), x.tasks-first))
	}
	return b.tasks
}

// All yields all tasks in order of id, as [Index.Range] returns them.
func (x *Index) All() iter.Seq[queens.Task] {
	return func(yield func(queens.Task) bool) {
		for r := range x.ranges() {
			for _, task := range x.Range(r.First, int(r.Tasks)) {
				if !yield(task) {
					return
				}
			}
		}
	}
}

// buffer holds consecutive tasks.
type buffer struct {
	tasks    []queens.Task
	prefixes []queens.Prefix
}

// fill makes the tasks from first to before end, which must exist, in the memory of the tasks before.
func (b *buffer) fill(x *Index, first, end uint64) {
	b.tasks, b.prefixes = slices.Grow(b.tasks[:0], int(end-first)), b.prefixes[:0]
	class := sort.Search(len(x.classes), func(i int) bool { return x.classes[i].end() > first })
	for ; first < end; class++ {
		c := &x.classes[class]
		batch, last := uint64(c.Batch), min(end, c.end())
		if first == last {
			continue // a class without tasks
		}
		prefix := (first - c.First) * batch
		b.prefixes = slices.Grow(b.prefixes, int(min((last-c.First)*batch, c.marks.prefixes)-prefix))
		w := c.walkTo(prefix)
		for ; first < last; first++ {
			begin := len(b.prefixes)
			b.prefixes = w.take(b.prefixes, begin+c.Batch)
			b.tasks = append(b.tasks, queens.Task{ID: first, Board: c.Board, Prefixes: slices.Clip(b.prefixes[begin:])})
		}
	}
}

// walkTo returns a walk at a prefix of the class, by its number.
func (c *classIndex) walkTo(prefix uint64) (w walk) {
	mark := sort.Search(len(c.marks.at), func(i int) bool { return c.marks.at[i] > prefix }) - 1
	w.resume(&c.Board, c.marks.columns[mark*c.Depth:][:c.Depth])
	w.skip(int(prefix - c.marks.at[mark]))
	return w
}

// Batch returns the prefixes of a task that begins with that of the queens on these columns, one in each row.
func Batch(plan *queens.ClassPlan, columns []byte) []queens.Prefix {
	var w walk
	w.resume(&plan.Board, columns)
	return w.take(nil, plan.Batch)
}
