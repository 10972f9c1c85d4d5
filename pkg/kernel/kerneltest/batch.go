package kerneltest

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// batch is an input of a kernel: prefixes of one board, with the true number of completions of
// each.
type batch struct {
	name     string // for failure messages
	board    queens.Board
	prefixes []queens.Prefix
	wants    []uint64
}

func newBatch(name string, board queens.Board) *batch {
	return &batch{name: name, board: board}
}

// add adds the prefix with queens on the given columns. Its count comes from the oracle, which does
// not use masks.
func (b *batch) add(columns []int) {
	allowed := func(row, col int) bool { return has(b.board.Allow[row], col) }
	b.append(b.prefix(columns), oracle.Count(b.board.N, allowed, columns))
}

// addShort adds a prefix with queens on the given columns: the shortest with a short search and at
// least the given rows.
func (b *batch) addShort(columns []int, rows int) {
	for !isShort(&b.board, b.prefix(columns[:rows])) {
		rows++
	}
	b.add(columns[:rows])
}

// addDepths adds every prefix with queens on the given columns that has a short search.
func (b *batch) addDepths(columns []int) {
	for rows := range len(columns) + 1 {
		if isShort(&b.board, b.prefix(columns[:rows])) {
			b.add(columns[:rows])
		}
	}
}

// addState adds a prefix whose queens are unknown.
func (b *batch) addState(p queens.Prefix) { b.append(p, b.count(p)) }

// count returns the oracle's count of a prefix whose queens are unknown. The oracle searches a
// board whose first rows stay empty, and which does not allow the squares that the prefix attacks.
func (b *batch) count(p queens.Prefix) uint64 {
	allowed := func(row, col int) bool {
		return has(b.board.Allow[row], col) && !attacks(p, queens.Square{Row: row, Column: col})
	}
	return oracle.Count(b.board.N, allowed, slices.Repeat([]int{-1}, p.Row))
}

// addKnown adds the empty prefix of a full board, with the published total.
func (b *batch) addKnown() {
	known, ok := queens.KnownTotal(b.board.N)
	if !ok || b.board != queens.FullBoard(b.board.N) {
		panic(fmt.Sprintf("no published total for %v", b))
	}
	b.append(queens.Prefix{}, known.Uint64())
}

func (b *batch) append(p queens.Prefix, want uint64) {
	if err := p.Validate(&b.board); err != nil {
		panic(fmt.Sprintf("%v: %v", b, err))
	}
	b.prefixes, b.wants = append(b.prefixes, p), append(b.wants, want)
}

// prefix returns the prefix with queens on the given columns.
func (b *batch) prefix(columns []int) queens.Prefix {
	var p queens.Prefix
	for _, col := range columns {
		p = p.Place(&b.board, 1<<col)
	}
	return p
}

// only returns a batch that has just the i-th prefix.
func (b *batch) only(i int) *batch {
	return &batch{fmt.Sprintf("%s, prefix %d", b.name, i), b.board, b.prefixes[i : i+1],
		b.wants[i : i+1]}
}

// draw returns a batch of the given size. Its prefixes are drawn at random from those of b, with
// repetition.
func (b *batch) draw(rng *rand.Rand, size int) *batch {
	drawn := newBatch(fmt.Sprintf("%s, %d drawn", b.name, size), b.board)
	for range size {
		i := rng.IntN(len(b.prefixes))
		drawn.append(b.prefixes[i], b.wants[i])
	}
	return drawn
}

// want returns the right count of the whole batch.
func (b *batch) want() uint64 {
	var sum uint64
	for _, want := range b.wants {
		sum += want
	}
	return sum
}

// mustCount returns the batch. It panics unless the right count is the given one.
func (b *batch) mustCount(want uint64) *batch {
	if b.want() != want {
		panic(fmt.Sprintf("%v: the oracle counts %d, not %d", b, b.want(), want))
	}
	return b
}

func (b *batch) String() string {
	shown := b.prefixes[:min(len(b.prefixes), 3)]
	return fmt.Sprintf("%s: board of side %d allowing %#x, %d prefixes (first %+v)",
		b.name, b.board.N, b.board.Allow[:b.board.N], len(b.prefixes), shown)
}

// check fails the test unless the counter counts the batch right.
func check(t *testing.T, c kernel.Counter, b *batch) {
	t.Helper()
	if err := b.countedBy(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// countedBy returns nil if the counter counts the batch right and does not change its input.
func (b *batch) countedBy(ctx context.Context, c kernel.Counter) error {
	board, prefixes := b.board, slices.Clone(b.prefixes)
	if err := board.Validate(); err != nil {
		return fmt.Errorf("%v: %w", b, err)
	}
	ctx, cancel := context.WithTimeout(ctx, testkit.Stall)
	defer cancel()
	var pulse atomic.Uint64
	got, err := c.Count(ctx, &board, prefixes, &pulse)
	switch {
	case err != nil:
		return fmt.Errorf("%v: %w", b, err)
	case got != b.want():
		return fmt.Errorf("%v: counted %d, want %d; %s", b, got, b.want(), b.firstMismatch(ctx, c))
	case board != b.board || !slices.Equal(prefixes, b.prefixes):
		return fmt.Errorf("%v: Count changed its input", b)
	}
	return nil
}

// firstMismatch describes the first prefix that the counter counts wrong when it gets this prefix
// alone.
func (b *batch) firstMismatch(ctx context.Context, c kernel.Counter) string {
	var pulse atomic.Uint64
	for i, want := range b.wants {
		if got, err := c.Count(ctx, &b.board, b.prefixes[i:i+1], &pulse); got != want || err != nil {
			return fmt.Sprintf("prefix %d %+v alone: %d (error %v), want %d", i, b.prefixes[i], got, err,
				want)
		}
	}
	return "each prefix alone is counted right"
}

// allPrefixes returns the batch of all prefixes of every depth on the full board of side n.
func allPrefixes(n int) *batch {
	b := newBatch(fmt.Sprintf("every prefix of n=%d", n), queens.FullBoard(n))
	var extend func(columns []int)
	extend = func(columns []int) {
		b.add(columns)
		if len(columns) == n {
			return
		}
		p := b.prefix(columns)
		for free := p.Free(&b.board); free != 0; free &= free - 1 {
			extend(append(columns, bits.TrailingZeros32(free)))
		}
	}
	extend(nil)
	return b
}

// densities is the number of densities of a solvableBoard: the parts of its squares that it allows,
// an eighth to all.
const densities = 5

// solvableBoard returns an empty batch on a random board that has a solution, and the solution. n
// must not be 2 or 3.
func solvableBoard(rng *rand.Rand, name string, n, density int) (*batch, []int) {
	b, columns := newBatch(name, queens.FullBoard(n)), solution(rng, n)
	for row, col := range columns {
		x, y, z := rng.Uint32(), rng.Uint32(), rng.Uint32()
		noise := [densities]uint32{x & y & z, x & y, x, x | y, 0xffffffff}
		b.board.Allow[row] &= noise[density] | 1<<col
	}
	return b, columns
}

// isShort reports whether a search from p visits so few states that the oracle takes at most about
// a millisecond.
func isShort(b *queens.Board, p queens.Prefix) bool {
	left := 2000
	var visit func(p queens.Prefix) bool
	visit = func(p queens.Prefix) bool {
		left--
		if left < 0 || p.Row == b.N {
			return left >= 0
		}
		for free := p.Free(b); free != 0; free &= free - 1 {
			if !visit(p.Place(b, free&-free)) {
				return false
			}
		}
		return true
	}
	return visit(p)
}

// has reports whether a mask has a column. col may be out of range.
func has(mask uint32, col int) bool {
	return col >= 0 && mask>>col&1 == 1
}
