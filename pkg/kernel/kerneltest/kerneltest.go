// Package kerneltest is the suite that every kernel passes: a kernel counts exactly what a plain
// search over arrays counts, and keeps the rest of the contract of kernel.Counter. Speed is for
// benchmarks.
//
// Random cases have fixed seeds, so that failures repeat.
package kerneltest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// Exception names a test of the suite that is skipped for a kernel, and the reason.
type Exception struct{ Property, Reason string }

// Run runs the suite for a kernel, in a subtest with the kernel's name. The subtests must not run
// in parallel with other tests, because a subtest counts allocations.
func Run(t *testing.T, k kernel.Kernel, exceptions ...Exception) {
	t.Run(k.Name, func(t *testing.T) {
		t.Logf("kernel %s", k.Name)
		for _, p := range counting {
			t.Run(p.name, func(t *testing.T) {
				c := NewCounter(t, k)
				for _, b := range p.batches() {
					check(t, c, b)
				}
			})
		}
		for _, p := range contract {
			t.Run(p.name, func(t *testing.T) {
				for _, e := range exceptions {
					if e.Property == p.name {
						t.Skip(e.Reason)
					}
				}
				p.holds(t, k)
			})
		}
	})
}

// counting has the properties of right counts. One counter counts all batches of a property right,
// one after the other.
var counting = []struct {
	name    string
	batches func() []*batch
}{
	{"every prefix of small boards", once(everyPrefix)},
	{"whole totals", once(wholeTotals)},
	{"random boards and prefixes", once(randomBoards)},
	{"all 32 columns", once(allColumns)},
	{"states that no queens make", once(freeStates)},
	{"batches of any size", once(batchSizes)},
	{"states with many children", once(manyChildren)},
	{"complete prefixes", once(completePrefixes)},
	{"boards without a solution", once(unsolvableBoards)},
	{"rows without an allowed square", once(blockedRows)},

	{"random outer columns and fixed rows", once(randomOuter)},
	{"large searches between fixed rows", once(largeSearches)},
}

// once returns a function that generates batches in its first call, and returns these batches in
// every call.
func once(generate func(add func(*batch))) func() []*batch {
	return sync.OnceValue(func() (batches []*batch) {
		generate(func(b *batch) { batches = append(batches, b) })
		return batches
	})
}

// contract has the other properties that the contract of kernel.Counter demands.
var contract = []struct {
	name  string
	holds func(t *testing.T, k kernel.Kernel)
}{
	{"canceled before", canceledBefore},
	{"canceled during", canceledDuring},
	{"no allocation", noAllocation},
	{"counters share nothing", countersShareNothing},
	{"closed", closed},
}

// A kernel counts each prefix of a small full board right, alone and with all others.
func everyPrefix(add func(*batch)) {
	for n := 1; n <= 8; n++ {
		all := allPrefixes(n)
		for i := range all.prefixes {
			add(all.only(i))
		}
		add(all)
	}
}

// The count from the empty board is the published total.
func wholeTotals(add func(*batch)) {
	for n := 1; n <= 12; n++ {
		b := newBatch(fmt.Sprintf("n=%d", n), queens.FullBoard(n))
		b.addKnown()
		add(b)
	}
}

// One counter counts many boards right, one after the other. The boards have all sides from 4 and
// all densities. The prefixes have all depths.
func randomBoards(add func(*batch)) {
	for seed := range uint64(400) {
		rng := newRand(seed)
		b, columns := solvableBoard(rng, fmt.Sprintf("seed %d", seed), 4+rng.IntN(queens.MaxN-3),
			rng.IntN(densities))
		for range 1 + rng.IntN(4) {
			b.addShort(columns, rng.IntN(b.board.N+1))
			b.addShort(rng.Perm(b.board.N), rng.IntN(b.board.N+1))
		}
		add(b)
	}
}

// Bit 31 is a column like any other. For each seed, one board of side 32 is full and has deep
// prefixes. The other allows all squares of its first two rows but few squares of its other rows,
// and has the shortest prefix whose search is short.
func allColumns(add func(*batch)) {
	for seed := range uint64(10) {
		rng := newRand(seed)
		full, columns := solvableBoard(rng, fmt.Sprintf("full, seed %d", seed), queens.MaxN, densities-1)
		full.addDepths(columns)
		add(full)

		early, columns := solvableBoard(rng, fmt.Sprintf("early rows full, seed %d", seed), queens.MaxN,
			0)
		early.board.Allow[0], early.board.Allow[1] = early.board.Columns(), early.board.Columns()
		early.addShort(columns, 0)
		add(early)
	}
}

// A kernel counts every valid state right, even if no queens attack exactly its squares: input
// from outside may be anything that queens.Prefix.Validate accepts.
func freeStates(add func(*batch)) {
	for seed := range uint64(200) {
		rng := newRand(seed)
		noise := make([]byte, 200)
		for i := range noise {
			noise[i] = byte(rng.Uint32() & rng.Uint32())
		}
		b := decode(noise)
		b.name = fmt.Sprintf("seed %d", seed)
		add(b)
	}
}

// The count of a batch is the sum over its prefixes. There may be any number of prefixes, also
// none, of different depths, in any order, and with repetitions.
func batchSizes(add func(*batch)) {
	rng := newRand(1)
	small := allPrefixes(8)
	same := allPrefixes(6).only(0)
	complete, columns := solvableBoard(rng, "complete", 20, 1)
	complete.add(columns)
	masked, columns := solvableBoard(rng, "masked", 17, 3)
	wide, wideColumns := solvableBoard(rng, "wide", queens.MaxN, 2)
	masked.addDepths(columns)
	masked.addDepths(rng.Perm(17))
	wide.addDepths(wideColumns)

	for _, from := range []*batch{small, same, complete, masked, wide} {
		for _, size := range []int{0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000,
			5000, queens.MaxBatch} {
			add(from.draw(rng, size))
		}
	}
	add(newBatch("nil", queens.FullBoard(8)))
}

// Hundreds of prefixes are counted right, even if they have more children than a kernel's queue has
// room for.
func manyChildren(add func(*batch)) {
	rng := newRand(0)
	b, _ := solvableBoard(rng, "two rows allow all squares", 16, 1)
	b.board.Allow[0], b.board.Allow[1] = b.board.Columns(), b.board.Columns()
	b.add(nil)
	for _, size := range []int{250, 500} {
		add(b.draw(rng, size))
	}
}

// A prefix of all rows has one completion, whatever its board allows.
func completePrefixes(add func(*batch)) {
	for n := 1; n <= queens.MaxN; n++ {
		for _, board := range []queens.Board{queens.FullBoard(n), {N: n}} {
			b := newBatch(fmt.Sprintf("n=%d", n), board)
			b.add(newRand(uint64(n)).Perm(n))
			add(b.mustCount(1))
		}
	}
}

// Boards without a solution count 0.
func unsolvableBoards(add func(*batch)) {
	corner := queens.FullBoard(6)
	corner.Allow[0] = 1
	hole, diagonal := queens.FullBoard(9), queens.Board{N: queens.MaxN}
	for row := range hole.N {
		hole.Allow[row] &^= 1 << 4
	}
	for row := range diagonal.N {
		diagonal.Allow[row] = 1 << row
	}
	for _, b := range []*batch{
		newBatch("n=2", queens.FullBoard(2)),
		newBatch("n=3", queens.FullBoard(3)),
		newBatch("only a corner of n=6", corner),
		newBatch("a column not allowed", hole),
		newBatch("one diagonal", diagonal),
	} {
		b.add(nil)
		add(b.mustCount(0))
	}
}

// If a row allows no square, prefixes that have no queen on it have no completion. The counts of
// deeper prefixes do not change.
func blockedRows(add func(*batch)) {
	for _, n := range []int{1, 4, 8, 11, 20, queens.MaxN} {
		for row := range n {
			b, columns := solvableBoard(newRand(uint64(row)), fmt.Sprintf("n=%d without row %d", n, row), n,
				densities-1)
			b.board.Allow[row] = 0
			b.addDepths(columns)
			add(b)
		}
		none := newBatch(fmt.Sprintf("n=%d without any row", n), queens.Board{N: n})
		none.add(nil)
		add(none)
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
