package split

import (
	"context"
	"fmt"
	"iter"
	"math/bits"
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
		plan, next, err := &x.classes[s.class].ClassPlan, uint64(0), error(nil)
		s.walk = walk{board: &plan.Board, depth: plan.Depth, columns: s.walk.columns, visit: func(_ queens.Prefix, free uint32) bool {
			if s.marks.prefixes >= next {
				s.marks.at = append(s.marks.at, s.marks.prefixes)
				s.marks.columns = append(append(s.marks.columns, s.walk.columns[:plan.Depth-1]...), byte(bits.TrailingZeros32(free)))
				next += uint64(max(markPrefixes, plan.Batch))
				if err = context.Cause(ctx); max(s.marks.prefixes, s.walk.steps) > maxPrefixes || s.marks.prefixes > most*uint64(plan.Batch) {
					err = tooLarge()
				}
			}
			s.marks.prefixes += uint64(bits.OnesCount32(free))
			return err == nil
		}}
		s.walk.below(s.first, nil)
		return s, err
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

// section is the prefixes of a class that begin with first.
type section struct {
	class int
	first queens.Prefix
	walk  walk
	marks marks
}

// sections divides the prefixes of all classes, in order: by the first two queens, unless a pass takes about a millisecond.
func (x *Index) sections() iter.Seq[section] {
	return func(yield func(section) bool) {
		more := true
		for i := 0; more && i < len(x.classes); i++ {
			c := &x.classes[i]
			if c.Depth <= 5 {
				more = yield(section{class: i})
				continue
			}
			w := walk{board: &c.Board, depth: 2}
			w.visit = func(p queens.Prefix, free uint32) bool {
				for ; more && free != 0; free &= free - 1 {
					w.columns[1] = byte(bits.TrailingZeros32(free))
					more = yield(section{class: i, first: p.Place(&c.Board, free&-free), walk: walk{columns: w.columns}})
				}
				return more
			}
			w.below(queens.Prefix{}, nil)
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
	b.tasks, b.prefixes = room(b.tasks[:0], int(end-first)), b.prefixes[:0]
	class := sort.Search(len(x.classes), func(i int) bool { return x.classes[i].end() > first })
	for ; first < end; class++ {
		c := &x.classes[class]
		batch, last := uint64(c.Batch), min(end, c.end())
		if first == last {
			continue // a class without tasks
		}
		prefix := (first - c.First) * batch
		count := int(min((last-c.First)*batch, c.marks.prefixes) - prefix)
		b.prefixes = room(b.prefixes, count)
		mark := sort.Search(len(c.marks.at), func(i int) bool { return c.marks.at[i] > prefix }) - 1
		begin := len(b.prefixes)
		b.prefixes = take(b.prefixes, begin+count, &c.Board, c.marks.columns[mark*c.Depth:][:c.Depth], int(prefix-c.marks.at[mark]))
		for ; first < last; first++ {
			end := min(begin+c.Batch, len(b.prefixes))
			b.tasks = append(b.tasks, queens.Task{ID: first, Board: c.Board, Prefixes: b.prefixes[begin:end:end]})
			begin = end
		}
	}
}

// room returns s if it has room for more elements, or an empty slice that has.
func room[E any](s []E, more int) []E {
	if cap(s)-len(s) < more {
		return make([]E, 0, more)
	}
	return s
}

// Batch returns the prefixes of a task that begins with that of the queens on these columns, one in each row.
func Batch(plan *queens.ClassPlan, columns []byte) []queens.Prefix {
	return take(nil, plan.Batch, &plan.Board, columns, 0)
}
