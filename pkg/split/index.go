package split

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
)

// Index makes the tasks of a manifest, in any order. It holds about 5 MiB for 10^7 tasks, and makes a task in about a
// microsecond. It is safe for concurrent use.
type Index struct {
	classes []classIndex
	tasks   uint64
}

// classIndex has marks at some prefixes of a class, from which a walk can start. A mark identifies a prefix by the columns
// of its queens, one byte for each row.
type classIndex struct {
	queens.ClassPlan
	tasks, prefixes uint64
	marks           []uint64 // the number of the prefix at each mark, from 0
	columns         []byte   // Depth bytes for each mark
	passed          uint64   // a measure of the time of a pass: the greater of the numbers of prefixes and placements
}

const (
	// markPrefixes is about the number of prefixes from a mark to the next, unless a task has more. A greater number would
	// save memory, but finding a task would take longer.
	markPrefixes = 512
	// rangePrefixes is the greatest number of prefixes in one of the ranges of a pass. Such a range takes about a
	// millisecond, and fits in the cache of a core.
	rangePrefixes = 1 << 14
)

// NewIndex passes over the prefixes of the classes once, several classes at a time. That takes half a core-second for 10^7
// tasks. It ignores First in the plans, and numbers the tasks itself. If ctx ends, it returns the cause. If there are more
// tasks than the parameter most allows, or if the pass gets too long, the error wraps [ErrTooLarge].
func NewIndex(ctx context.Context, plans []queens.ClassPlan, most uint64) (*Index, error) {
	x := new(Index)
	within := func(prefixes, tasks uint64) error {
		if prefixes > maxPrefixes || tasks > most {
			return fmt.Errorf("%w: more than %d tasks, or %d prefixes", ErrTooLarge, most, uint64(maxPrefixes))
		}
		return nil
	}
	mark := func(ctx context.Context, plan queens.ClassPlan) (c classIndex, err error) {
		c.ClassPlan = plan
		c.mark(func() bool {
			err = cmp.Or(context.Cause(ctx), within(c.passed, c.tasks))
			return err == nil
		})
		return c, err
	}
	passed := uint64(0)
	err := parallel.InOrder(ctx, slices.Values(plans), mark, func(c classIndex) error {
		c.First = x.tasks
		x.classes = append(x.classes, c)
		x.tasks += c.tasks
		passed += c.passed
		return within(passed, x.tasks)
	})
	return x, err
}

// mark passes over the prefixes of the class and fills the classIndex. Every 2^20 steps, and at the end, it calls more(),
// which returns whether to go on.
func (c *classIndex) mark(more func() bool) {
	next, batch := uint64(0), uint64(c.Batch)
	w := walk{board: &c.Board, depth: c.Depth}
	measure := func() bool {
		c.tasks, c.passed = (c.prefixes+batch-1)/batch, max(c.prefixes, w.steps)
		return more()
	}
	w.pause = measure
	w.visit = func(_ queens.Prefix, free uint32) bool {
		if c.prefixes >= next {
			c.marks = append(c.marks, c.prefixes)
			c.columns = append(append(c.columns, w.columns[:c.Depth-1]...), byte(bits.TrailingZeros32(free)))
			next += max(markPrefixes, batch)
		}
		c.prefixes += uint64(bits.OnesCount32(free))
		return true
	}
	w.below(queens.Prefix{}, nil)
	measure()
}

// Tasks returns the number of tasks.
func (x *Index) Tasks() uint64 { return x.tasks }

// TaskPrefixes returns the number of prefixes in the largest task of a class. It is less than Batch if the class has fewer
// prefixes.
func (x *Index) TaskPrefixes(class int) int {
	c := &x.classes[class]
	return int(min(uint64(c.Batch), c.prefixes))
}

// Range returns consecutive tasks, given the id of the first one and their number. It returns fewer if the manifest has no
// more. Tasks may share an array of prefixes, which no later call overwrites.
func (x *Index) Range(first uint64, tasks int) []queens.Task {
	first = min(first, x.tasks)
	return new(buffer).fill(x, queens.Range{First: first, Tasks: min(uint64(max(tasks, 0)), x.tasks-first)})
}

// buffer holds consecutive tasks and their prefixes.
type buffer struct {
	tasks    []queens.Task
	prefixes []queens.Prefix
}

// fill returns the tasks of a range, which must exist. It reuses the memory of the tasks that it returned before.
func (b *buffer) fill(x *Index, r queens.Range) []queens.Task {
	b.tasks, b.prefixes = slices.Grow(b.tasks[:0], int(r.Tasks)), b.prefixes[:0]
	first := r.First
	class := sort.Search(len(x.classes), func(i int) bool { return x.classes[i].First+x.classes[i].tasks > first })
	for ; first < r.End(); class++ {
		c := &x.classes[class]
		tasks := min(r.End(), c.First+c.tasks) - first
		if tasks == 0 {
			continue
		}
		prefix := (first - c.First) * uint64(c.Batch)
		mark := sort.Search(len(c.marks), func(i int) bool { return c.marks[i] > prefix }) - 1
		columns := c.columns[mark*c.Depth:][:c.Depth]
		count := int(min(tasks*uint64(c.Batch), c.prefixes-prefix))
		begin := len(b.prefixes)
		b.prefixes = take(slices.Grow(b.prefixes, count), begin+count, &c.Board, columns, int(prefix-c.marks[mark]))
		for batch := range slices.Chunk(b.prefixes[begin:], c.Batch) {
			b.tasks = append(b.tasks, queens.Task{ID: first, Board: c.Board, Prefixes: batch})
			first++
		}
	}
	return b.tasks
}

// All yields all tasks with their ids, in order, as [Index.Range] returns them.
func (x *Index) All() iter.Seq2[uint64, queens.Task] {
	return func(yield func(uint64, queens.Task) bool) {
		for r := range x.ranges() {
			for _, task := range x.Range(r.First, int(r.Tasks)) {
				if !yield(task.ID, task) {
					return
				}
			}
		}
	}
}

// ranges divides the tasks into ranges for a pass, in order.
func (x *Index) ranges() iter.Seq[queens.Range] {
	return func(yield func(queens.Range) bool) {
		for i := range x.classes {
			c := &x.classes[i]
			most, end := uint64(max(rangePrefixes/c.Batch, 1)), c.First+c.tasks
			for first := c.First; first < end; first += most {
				if !yield(queens.Range{First: first, Tasks: min(most, end-first)}) {
					return
				}
			}
		}
	}
}

// InOrder passes over all tasks on all cores. It calls the function work with the tasks of each range, several calls at a
// time. It calls the function done with the results, in the order of the ids, one call at a time. After work has returned,
// its tasks are overwritten. InOrder returns errors as [parallel.InOrder] does.
func InOrder[T any](ctx context.Context, x *Index, work func(tasks []queens.Task) (T, error), done func(T) error) error {
	buffers := sync.Pool{New: func() any { return new(buffer) }}
	return parallel.InOrder(ctx, x.ranges(), func(_ context.Context, r queens.Range) (T, error) {
		b := buffers.Get().(*buffer)
		defer buffers.Put(b)
		return work(b.fill(x, r))
	}, done)
}

// hash returns the hash of all tasks, for Manifest.Hash. If the parameter each is not nil, hash calls it with the hashes of
// the single tasks, some at a time, in order of id.
func (x *Index) hash(ctx context.Context, each func(hashes []uint64)) (sum queens.Bytes32, err error) {
	hash := sha256.New()
	err = InOrder(ctx, x, func(tasks []queens.Task) ([]uint64, error) {
		hashes := make([]uint64, len(tasks))
		var hasher queens.Hasher
		for i := range tasks {
			hashes[i] = hasher.Hash(&tasks[i])
		}
		return hashes, nil
	}, func(hashes []uint64) error {
		if each != nil {
			each(hashes)
		}
		return binary.Write(hash, binary.LittleEndian, hashes)
	})
	hash.Sum(sum[:0])
	return sum, err
}

// Batch returns the prefixes of a task. The first of them has queens on the given columns, one in each row.
func Batch(plan *queens.ClassPlan, columns []byte) []queens.Prefix {
	return take(nil, plan.Batch, &plan.Board, columns, 0)
}

// walk enumerates the prefixes of a board in lexicographic order of their columns.
type walk struct {
	board *queens.Board
	depth int // rows of the prefixes, at least 1
	// A call of visit covers all prefixes that differ only in the last row. It gets the queens on the rows above that row,
	// and the free squares of the row, at least one. It returns whether to go on.
	visit   func(above queens.Prefix, free uint32) bool
	pause   func() bool       // if not nil, it is called every 2^20 steps, and returns whether to go on
	columns [queens.MaxN]byte // of the queens on the rows above the last
	steps   uint64            // placements so far, a measure of the time
}

// below visits the prefixes that extend p. If path is not empty, it starts with the prefix whose next rows have queens on
// the columns of path. It returns whether to go on.
func (w *walk) below(p queens.Prefix, path []byte) bool {
	free := p.Free(w.board)
	if len(path) > 0 {
		free &^= 1<<path[0] - 1
		path = path[1:]
	}
	if w.steps++; w.steps%(1<<20) == 0 && w.pause != nil && !w.pause() {
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

// take appends prefixes of a board, in order, until len(prefixes) == most or there are no more. It starts at the prefix with
// queens on the given columns. The parameter skip is the number of prefixes that it leaves out at the start.
func take(prefixes []queens.Prefix, most int, b *queens.Board, columns []byte, skip int) []queens.Prefix {
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
