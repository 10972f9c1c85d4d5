package kerneltest

import (
	"fmt"
	"slices"

	"nqueens/pkg/queens"
)

// A kernel may place queens in three stages: first on the rows with a single allowed square (the
// fixed rows), then in the outer columns, then on the other rows, in a window of 16 columns in
// 16-bit words. The properties of this file test such kernels.

// Boards of side 14 to 32 are counted right with any number of outer columns, any fixed rows,
// scattered or in a block, and any prefixes.
func randomOuter(add func(*batch)) {
	for n := 14; n <= queens.MaxN; n++ {
		for seed := range uint64(25) {
			add(outerBatch(n, seed))
		}
	}
}

// outerBatch returns a batch for randomOuter.
func outerBatch(n int, seed uint64) *batch {
	rng := newRand(uint64(n)<<32 | seed)
	b, columns := solvableBoard(rng, fmt.Sprintf("n=%d, seed %d", n, seed), n, rng.IntN(densities))
	fixed := rng.Perm(n)[:rng.IntN(5)]
	if rng.IntN(2) == 0 {
		first := rng.IntN(n / 2)
		for row := range rng.IntN(n - first) {
			fixed = append(fixed, first+row)
		}
	}
	// The second prefix may cover fixed rows, with queens on other squares.
	other, depth := solution(rng, n), 1+rng.IntN(n-1)
	for row := range n {
		switch {
		case slices.Contains(fixed, row):
			b.board.Allow[row] = 1 << columns[row]
		case row >= depth:
			b.board.Allow[row] |= 1 << other[row]
		}
	}
	b.addShort(columns, rng.IntN(n/4))
	b.addShort(other, depth)
	first := b.prefixes[0]
	for range rng.IntN(80) {
		p := first
		if rng.IntN(2) == 0 {
			p.Cols = 0
			for _, col := range rng.Perm(n)[:p.Row] {
				p.Cols |= 1 << col
			}
		}
		p.Left |= rng.Uint32() & rng.Uint32() & rng.Uint32() & b.board.Columns()
		p.Right |= rng.Uint32() & rng.Uint32() & rng.Uint32() & b.board.Columns()
		if isShort(&b.board, p) {
			b.addState(p)
		}
	}
	return b
}

// Two to seven rows are fixed, and ten rows allow all squares. The search visits thousands of
// states.
func largeSearches(add func(*batch)) {
	for n := 12; n <= 17; n++ {
		rng := newRand(uint64(n))
		for large := 0; large < 3; {
			columns, fixed := solution(rng, n), rng.Perm(n)[:n-10]
			b := newBatch(fmt.Sprintf("n=%d, rows %v fixed", n, fixed), queens.FullBoard(n))
			for _, row := range fixed {
				b.board.Allow[row] = 1 << columns[row]
			}
			if !isShort(&b.board, queens.Prefix{}) {
				b.add(nil)
				add(b)
				large++
			}
		}
	}
}
