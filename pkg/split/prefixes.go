package split

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"sort"

	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
)

// prefixes is the method prefixes: a task is a batch of prefixes of a class.
type prefixes struct{}

func (prefixes) classes(n int, s queens.Symmetry, placed []queens.Square) ([]queens.Class, error) {
	return symmetry.Classes(n, s, placed...)
}

func (prefixes) sizes(classes []queens.Class, depth int) ([]queens.ClassPlan, error) {
	plans := PlanSizes(classes)
	for i := range plans {
		if depth != 0 {
			plans[i].Depth, plans[i].Batch = depth, 1
		}
	}
	return plans, nil
}

func (prefixes) index(
	ctx context.Context, plan queens.ClassPlan, within func(passed, tasks uint64) error,
) (classIndex, error) {
	c := prefixIndex{ClassPlan: plan}
	var err error
	c.mark(func() bool {
		if err = context.Cause(ctx); err == nil {
			err = within(c.visited, c.number)
		}
		return err == nil
	})
	return &c, err
}

func (prefixes) cost(plan *queens.ClassPlan) float64 {
	return searchCost(&plan.Board, plan.Depth, probesFor(plan.Board.N)) *
		math.Pow(outerCost, float64(outerColumns(&plan.Board)))
}

const (
	// windowColumns is the number of columns that most kernels search at once. Before that, they place
	// queens in the outer columns, in every possible way.
	windowColumns = 16
	// outerCost is how many times as long a search takes for each outer column that needs a queen, as
	// measured (avx512, n = 19 to 22).
	outerCost = 1.25
)

// outerColumns returns how many columns outside a window of a board need a queen after those rows
// that allow only one square have theirs.
func outerColumns(b *queens.Board) (outer int) {
	filled := uint32(0)
	for _, allow := range b.Allow[:b.N] {
		if bits.OnesCount32(allow) == 1 {
			filled |= allow
		}
	}
	for low, high := 0, b.N; high-low > windowColumns; {
		if filled>>low&1 == 1 {
			low++
			continue
		}
		high--
		outer += 1 - int(filled>>high&1)
	}
	return outer
}

const (
	// markPrefixes is about the number of prefixes from a mark to the next, unless a task has more. A
	// greater number would save memory, but finding a task would take longer.
	markPrefixes = 512
	// rangePrefixes is the greatest number of prefixes in one of the ranges of a pass. Such a range
	// takes about a millisecond, and fits in the cache of a core.
	rangePrefixes = 1 << 14
)

// prefixIndex has marks at some prefixes of a class, from which a walk can start. A mark identifies
// a prefix by the columns of its queens, one byte for each row.
type prefixIndex struct {
	queens.ClassPlan
	number, all uint64   // of tasks and of prefixes
	marks       []uint64 // the number of the prefix at each mark, from 0
	columns     []byte   // Depth bytes for each mark
	// a measure of the time of a pass: the greater of the numbers of prefixes and placements
	visited uint64
}

// mark passes over the prefixes of the class and fills the prefixIndex. Every 2^20 steps, and at
// the end, it calls more(), which returns whether to go on.
func (c *prefixIndex) mark(more func() bool) {
	next, batch := uint64(0), uint64(c.Batch)
	w := walk{board: &c.Board, depth: c.Depth}
	measure := func() bool {
		c.number, c.visited = (c.all+batch-1)/batch, max(c.all, w.steps)
		return more()
	}
	w.pause = measure
	w.visit = func(_ queens.Prefix, free uint32) bool {
		if c.all >= next {
			c.marks = append(c.marks, c.all)
			c.columns = append(append(c.columns, w.columns[:c.Depth-1]...), byte(bits.TrailingZeros32(free)))
			next += max(markPrefixes, batch)
		}
		c.all += uint64(bits.OnesCount32(free))
		return true
	}
	w.below(queens.Prefix{}, nil)
	measure()
}

func (c *prefixIndex) tasks() uint64    { return c.number }
func (c *prefixIndex) passed() uint64   { return c.visited }
func (c *prefixIndex) prefixes() int    { return int(min(uint64(c.Batch), c.all)) }
func (c *prefixIndex) together() uint64 { return uint64(max(rangePrefixes/c.Batch, 1)) }

func (c *prefixIndex) fill(b *buffer, id, number, tasks uint64) {
	prefix := number * uint64(c.Batch)
	mark := sort.Search(len(c.marks), func(i int) bool { return c.marks[i] > prefix }) - 1
	columns := c.columns[mark*c.Depth:][:c.Depth]
	count := int(min(tasks*uint64(c.Batch), c.all-prefix))
	begin, skip := len(b.prefixes), int(prefix-c.marks[mark])
	b.prefixes = take(slices.Grow(b.prefixes, count), begin+count, &c.Board, columns, skip)
	for batch := range slices.Chunk(b.prefixes[begin:], c.Batch) {
		b.tasks = append(b.tasks, queens.Task{ID: id, Board: c.Board, Prefixes: batch})
		id++
	}
}

// Batch returns the prefixes of a task. The first of them has queens on the given columns, one in
// each row.
func Batch(plan *queens.ClassPlan, columns []byte) []queens.Prefix {
	return take(nil, plan.Batch, &plan.Board, columns, 0)
}

// walk enumerates the prefixes of a board in lexicographic order of their columns.
type walk struct {
	board *queens.Board
	depth int // rows of the prefixes, at least 1
	// A call of visit covers all prefixes that differ only in the last row. It gets the queens on the
	// rows above that row, and the free squares of the row, at least one. It returns whether to go on.
	visit func(above queens.Prefix, free uint32) bool
	// if not nil, it is called every 2^20 steps, and returns whether to go on
	pause   func() bool
	columns [queens.MaxN]byte // of the queens on the rows above the last
	steps   uint64            // placements so far, a measure of the time
}

// below visits the prefixes that extend p. If path is not empty, it starts with the prefix whose
// next rows have queens on the columns of path. It returns whether to go on.
func (w *walk) below(p queens.Prefix, path []byte) bool {
	free := p.Free(w.board)
	if len(path) > 0 {
		free &^= 1<<path[0] - 1
		path = path[1:]
	}
	w.steps++
	if w.steps%(1<<20) == 0 && w.pause != nil && !w.pause() {
		return false
	}
	if p.Row == w.depth-1 {
		return free == 0 || w.visit(p, free)
	}
	for ; free != 0; free &= free - 1 {
		w.columns[p.Row] = byte(bits.TrailingZeros32(free))
		if !w.below(p.Place(w.board, free&-free), path) {
			return false
		}
		path = nil
	}
	return true
}

// take appends prefixes of a board, in order, until len(prefixes) == most or there are no more. It
// starts at the prefix with queens on the given columns. The parameter skip is the number of
// prefixes that it leaves out at the start.
func take(
	prefixes []queens.Prefix, most int, b *queens.Board, columns []byte, skip int,
) []queens.Prefix {
	w := walk{board: b, depth: len(columns), visit: func(p queens.Prefix, free uint32) bool {
		if here := bits.OnesCount32(free); here <= skip {
			skip -= here
			return true
		}
		for ; skip > 0; skip-- {
			free &= free - 1
		}
		for ; free != 0 && len(prefixes) < most; free &= free - 1 {
			prefixes = append(prefixes, p.Place(b, free&-free))
		}
		return len(prefixes) < most
	}}
	w.below(queens.Prefix{}, columns)
	return prefixes
}
