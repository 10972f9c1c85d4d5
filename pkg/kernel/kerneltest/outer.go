package kerneltest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"nqueens/pkg/queens"
)

// A kernel may place the queens of outer columns first and then search a window of 16 columns in
// 16-bit words. The properties of this file are for such kernels. Most plant a placement in which
// only two given queens attack each other: a kernel that overlooks the attack counts it.

// window is the columns lo to hi-1 of a board of side n: 16 of them, or all if there are fewer.
type window struct{ n, lo, hi int }

// windows returns the windows at the left edge, in the middle and at the right edge.
func windows(n int) []window {
	width := min(n, 16)
	var all []window
	for _, lo := range slices.Compact([]int{0, (n - width) / 2, n - width}) {
		all = append(all, window{n, lo, lo + width})
	}
	return all
}

func (w window) String() string { return fmt.Sprintf("n=%d, window %d to %d", w.n, w.lo, w.hi-1) }

// mask returns the mask of the window's columns.
func (w window) mask() uint32 { return uint32(1<<w.hi - 1<<w.lo) }

// inner returns the window's columns but the first and the last, which batch treats differently.
func (w window) inner() []int { return span(w.lo+1, w.hi-1) }

// sides returns the columns to the left and to the right of the window, where there are any.
func (w window) sides() [][]int {
	return slices.DeleteFunc([][]int{span(0, w.lo), span(w.hi, w.n)}, func(side []int) bool { return len(side) == 0 })
}

// distance returns the number of columns from an outer column to the window.
func (w window) distance(col int) int { return max(w.lo-col, col-w.hi+1) }

// batch returns a batch without prefixes. Its board allows the squares of the placements and all of
// the window's first and last column. So a kernel that always places the edge column with fewer
// squares first is left with this window.
func (w window) batch(name string, placements ...[]int) *batch {
	b := newBatch(fmt.Sprintf("%v, %s", w, name), queens.Board{N: w.n})
	for row := range w.n {
		b.board.Allow[row] = 1<<w.lo | 1<<(w.hi-1)
	}
	b.allow(placements...)
	return b
}

// attack returns two random squares, in a column of from and in one of to further down, that attack
// each other diagonally.
func (w window) attack(rng *rand.Rand, from, to []int) (upper, lower queens.Square) {
	for {
		upper = queens.Square{Row: rng.IntN(w.n), Column: from[rng.IntN(len(from))]}
		lower.Column = to[rng.IntN(len(to))]
		lower.Row = upper.Row + max(upper.Column-lower.Column, lower.Column-upper.Column)
		if upper != lower && lower.Row < w.n {
			return upper, lower
		}
	}
}

// pair returns a batch of two prefixes of one depth: of a solution, and of a placement in which two
// squares attack each other and no others do.
func (w window) pair(rng *rand.Rand, name string, depth int, upper, lower queens.Square) *batch {
	right, wrong := solution(rng, w.n), placement(rng, queens.FullBoard(w.n), upper, lower)
	return w.batch(fmt.Sprintf("%s: (%v) attacks (%v)", name, upper, lower), right, wrong).addAll(depth, right, wrong)
}

// Queens in outer columns and queens in the window attack each other, downwards and upwards, in the
// prefix or below it.
func outerAttacks(check func(*batch)) {
	for n := 17; n <= 24; n++ {
		rng := newRand(uint64(n))
		for _, w := range windows(n) {
			sides := w.sides()
			for i, side := range sides {
				for _, c := range []struct {
					name     string
					from, to []int
				}{
					{"outer column to window", side, w.inner()},
					{"window to outer column", w.inner(), side},
					{"outer column to outer column", side, sides[len(sides)-1-i]},
				} {
					if len(c.from) == 1 && slices.Equal(c.from, c.to) {
						continue
					}
					upper, lower := w.attack(rng, c.from, c.to)
					inside := upper.Row + 1 + rng.IntN(lower.Row-upper.Row) // upper is a queen of the prefix
					for _, depth := range []int{0, inside} {
						check(construct(func() *batch {
							return w.pair(rng, fmt.Sprintf("%s, depth %d", c.name, depth), depth, upper, lower)
						}))
					}
				}
			}
		}
	}
}

// Diagonals that are still outside the window in the prefix's row attack it further down.
func enteringDiagonals(check func(*batch)) {
	for n := 18; n <= 24; n++ {
		rng := newRand(uint64(n))
		for _, w := range windows(n) {
			for _, side := range w.sides() {
				far := slices.DeleteFunc(side, func(col int) bool { return w.distance(col) == 1 })
				for range min(len(far), 3) {
					upper, lower := w.attack(rng, far, w.inner())
					depth := upper.Row + 1 + rng.IntN(w.distance(upper.Column)-1)
					check(construct(func() *batch {
						return w.pair(rng, fmt.Sprintf("depth %d", depth), depth, upper, lower)
					}).mustEnter(w))
				}
			}
		}
	}
}

// mustEnter panics unless the count of the last prefix depends on its diagonals outside the window.
func (b *batch) mustEnter(w window) *batch {
	last := len(b.prefixes) - 1
	p := b.prefixes[last]
	p.Left, p.Right = p.Left&w.mask(), p.Right&w.mask()
	if b.count(p) <= b.wants[last] {
		panic(fmt.Sprintf("%v: no diagonal enters the window", b))
	}
	return b
}

// Prefixes that differ only in diagonals outside the window have different counts.
func mixedDiagonals(check func(*batch)) {
	for n := 18; n <= 24; n++ {
		rng := newRand(uint64(n))
		for _, w := range windows(n) {
			for range 3 {
				check(construct(func() *batch { return w.diagonals(rng) }))
			}
		}
	}
}

// diagonals returns a batch of eight prefixes: with each combination of three diagonals that enter
// the window further down, each through a queen of another solution.
func (w window) diagonals(rng *rand.Rand) *batch {
	depth := w.n / 3
	placements := [][]int{solution(rng, w.n)}
	top := squares(placements[0], span(0, depth)...)
	var diagonals []queens.Prefix
	for range 3 {
		sides := w.sides()
		upper, lower := w.attack(rng, sides[rng.IntN(len(sides))], w.inner())
		lower.Row += depth - upper.Row // upper is a square of row depth, without a queen
		if lower.Row >= w.n {
			return nil
		}
		placements = append(placements, placement(rng, queens.FullBoard(w.n), append(top, lower)...))
		diagonal := queens.Prefix{Left: 1 << upper.Column}
		if lower.Column < upper.Column {
			diagonal = queens.Prefix{Right: 1 << upper.Column}
		}
		diagonals = append(diagonals, diagonal)
	}
	b := w.batch("eight combinations of diagonals", placements...)
	if b.addAll(depth, placements...) == nil {
		return nil
	}
	p := b.prefixes[0]
	b.prefixes, b.wants = nil, nil
	for set := range 1 << len(diagonals) {
		q := p
		for i, d := range diagonals {
			if set>>i&1 == 1 {
				q.Left, q.Right = q.Left|d.Left, q.Right|d.Right
			}
		}
		b.addState(q)
	}
	for i := range diagonals {
		if b.wants[1<<i] >= b.wants[0] {
			return nil
		}
	}
	return b
}

// Some prefixes of a batch have a queen in an outer column, and the others need one there.
func partlyFilled(check func(*batch)) {
	const depth, prefixes = 5, 4
	for n := 17; n <= 20; n++ {
		rng := newRand(uint64(n))
		for _, w := range windows(n) {
			for _, side := range w.sides() {
				for filled := 1; filled < prefixes; filled++ {
					col := side[rng.IntN(len(side))]
					check(construct(func() *batch {
						placements := make([][]int, prefixes)
						for i := range placements {
							row := rng.IntN(depth)
							if i >= filled {
								row = depth + rng.IntN(n-depth)
							}
							placements[i] = placement(rng, queens.FullBoard(n), queens.Square{Row: row, Column: col})
						}
						return w.batch(fmt.Sprintf("%d of %d have a queen in column %d", filled, prefixes, col), placements...).
							addAll(depth, placements...)
					}))
				}
			}
		}
	}
}

// Columns inside the window are filled by all prefixes, which have queens in the same columns, or
// by fixed rows.
func filledInside(check func(*batch)) {
	const depth = 4
	for n := 17; n <= 24; n++ {
		rng := newRand(uint64(n))
		for _, w := range windows(n) {
			check(construct(func() *batch {
				top := span(0, depth)
				within := w.within(top)
				first := placement(rng, within)
				for _, row := range top {
					within.Allow[row] = 0
					for _, s := range squares(first, top...) {
						within.Allow[row] |= 1 << s.Column
					}
				}
				placements := [][]int{first, placement(rng, within), placement(rng, within)}
				b := w.batch("filled by prefixes", placements...).addAll(depth, placements...)
				if b == nil || len(slices.Compact(slices.Clone(b.prefixes))) == 1 {
					return nil
				}
				return b
			}))
			check(construct(func() *batch {
				rows := drawRows(rng, 3, depth, n)
				first := placement(rng, w.within(rows))
				others := placement(rng, queens.FullBoard(n), squares(first, rows...)...)
				return w.fixing("filled by fixed rows", depth, rows, first, others)
			}))
		}
	}
}

// All 16 outer columns of a board of side 32 are filled by the prefixes, or by fixed rows. Squares
// that are still allowed there don't matter.
func filledEdges(check func(*batch)) {
	for _, w := range windows(queens.MaxN) {
		rng := newRand(uint64(w.lo))
		for _, side := range w.sides() {
			check(construct(func() *batch { return w.filledByPrefixes(rng, side) }).mustEnter(w))
		}
		for range 4 {
			check(construct(func() *batch { return w.filledByStates(rng, 100) }))
			check(construct(func() *batch { return w.filledByRows(rng) }))
		}
	}
}

// filledByPrefixes returns a batch of two prefixes with queens in all outer columns: of a solution,
// and of a placement in which a queen in a column of side attacks a row below the prefix.
func (w window) filledByPrefixes(rng *rand.Rand, side []int) *batch {
	const depth = 24
	upper, lower := w.attack(rng, side, w.inner())
	if upper.Row >= depth || lower.Row < depth || upper.Row+w.distance(upper.Column) <= depth {
		return nil
	}
	within := w.within(span(depth, w.n))
	right, wrong := placement(rng, within), placement(rng, within, upper, lower)
	b := newBatch(fmt.Sprintf("%v, filled by prefixes, (%v) attacks (%v)", w, upper, lower), queens.Board{N: w.n})
	for row := range w.n {
		b.board.Allow[row] = rng.Uint32() & (rng.Uint32() | ^w.mask()) & b.board.Columns()
	}
	b.allow(right, wrong)
	return b.addAll(depth, right, wrong)
}

// filledByStates returns a batch of prefixes with queens in the outer columns alone. They have
// different diagonals there, some of which attack queens of the first prefix's solution.
func (w window) filledByStates(rng *rand.Rand, size int) *batch {
	const depth = 16
	b := w.batch("filled by any states")
	first := queens.Prefix{Row: depth, Cols: b.board.Columns() &^ w.mask()}
	first.Left, first.Right = rng.Uint32()&w.mask(), rng.Uint32()&w.mask()
	for i, col := range solution(rng, w.hi-w.lo) {
		col += w.lo
		b.board.Allow[depth+i] |= 1 << col
		first.Left &^= 1 << col >> i
		first.Right &^= 1 << col << i
	}
	b.addState(first)
	for len(b.prefixes) < size {
		p, outside := first, rng.Uint32()&rng.Uint32()
		p.Left |= outside & (1<<w.lo - 1)
		p.Right |= outside & b.board.Columns() &^ (1<<w.hi - 1)
		b.addState(p)
	}
	if slices.Min(b.wants) == b.wants[0] {
		return nil
	}
	return b
}

// filledByRows returns a batch on a board with a fixed row for each outer column, one of which
// attacks a row that is left.
func (w window) filledByRows(rng *rand.Rand) *batch {
	const depth = 6
	fixed := drawRows(rng, w.n-(w.hi-w.lo), depth, w.n)
	left := slices.DeleteFunc(span(depth, w.n), func(row int) bool { return slices.Contains(fixed, row) })
	within := w.within(span(0, w.n))
	for _, row := range fixed {
		within.Allow[row] ^= within.Columns()
	}
	from, to := slices.Concat(w.sides()...), w.inner()
	if rng.IntN(2) == 0 {
		from, to = to, from
	}
	upper, lower := w.attack(rng, from, to)
	if !has(within.Allow[upper.Row], upper.Column) || !has(within.Allow[lower.Row], lower.Column) {
		return nil
	}
	return w.fixedBut(rng, depth, left, within, upper, lower)
}

// A batch of the largest size: most ways to fill the outer columns leave one prefix, or most leave
// all, or each prefix has other diagonals outside the window.
func fullBatches(check func(*batch)) {
	rng := newRand(0)
	check(construct(func() *batch { return window{18, 2, 18}.thinned(rng) }))
	check(construct(func() *batch { return window{22, 3, 19}.diagonals(rng) }).draw(rng, queens.MaxBatch))
	check(construct(func() *batch { return window{queens.MaxN, 7, 23}.filledByStates(rng, queens.MaxBatch) }))
}

// thinned returns a batch of three prefixes with solutions among many that attack all of column 0.
// The window must begin with column 2.
func (w window) thinned(rng *rand.Rand) *batch {
	const depth = 6
	within := w.within(span(0, depth))
	placements := [][]int{placement(rng, within), placement(rng, within), placement(rng, within)}
	b := w.batch("one prefix left", placements...)
	for row := depth; row < w.n-1; row++ { // one row less than in the window's first and last column
		b.board.Allow[row] |= 1<<w.lo - 1
	}
	if b.addAll(depth, placements...) == nil {
		return nil
	}
	alive := b.prefixes
	b.prefixes, b.wants = nil, nil
	dead := queens.Prefix{Row: depth, Cols: alive[0].Cols, Right: 1<<(w.n-depth) - 1}
	want := b.count(dead)
	for range queens.MaxBatch - len(alive) {
		b.append(dead, want)
	}
	for i, p := range alive {
		// p attacks columns 0 and 1 on all diagonals without a queen of its solution.
		p.Right = dead.Right
		for row := depth; row < w.n; row++ {
			p.Right &^= 1 << (placements[i][row] + row - depth)
		}
		alive[i] = p
		at := i * len(b.prefixes) / (len(alive) - 1)
		b.prefixes, b.wants = slices.Insert(b.prefixes, at, p), slices.Insert(b.wants, at, b.count(p))
	}
	ways := make([]int, len(alive)+1) // to place queens in columns 0 and 1, by the number of prefixes left
	for row0 := depth; row0 < w.n; row0++ {
		for row1 := depth; row1 < w.n; row1++ {
			a, b := queens.Square{Row: row0, Column: 0}, queens.Square{Row: row1, Column: 1}
			left := 0
			for _, p := range alive {
				if !a.Attacks(b) && !attacks(p, a) && !attacks(p, b) {
					left++
				}
			}
			ways[left]++
		}
	}
	if ways[1] <= ways[2]+ways[3] {
		return nil
	}
	return b
}

// A small board counts the same anywhere inside a larger one whose other columns are filled,
// although squares are allowed there.
func embeddedBoards(check func(*batch)) {
	small := allPrefixes(6)
	for _, n := range []int{7, 15, 16, 17, 18, 20, 24, 31, queens.MaxN} {
		rng := newRand(uint64(n))
		rows := n - small.board.N
		for _, shift := range []int{0, rows / 2, rows} {
			b := newBatch(fmt.Sprintf("n=6 in n=%d from column %d", n, shift), queens.Board{N: n})
			inside := small.board.Columns() << shift
			for row := range n {
				b.board.Allow[row] = rng.Uint32() & b.board.Columns() &^ inside
				if row >= rows {
					b.board.Allow[row] |= inside
				}
			}
			for i, p := range small.prefixes {
				p.Row += rows
				p.Cols = p.Cols<<shift | b.board.Columns()&^inside
				p.Left, p.Right = p.Left<<shift, p.Right<<shift
				b.append(p, small.wants[i])
			}
			check(b)
		}
	}
}

// Boards of side 14 to 26 count right with any number of outer columns and fixed rows, whatever
// columns and diagonals the prefixes of a batch have.
func randomOuter(check func(*batch)) {
	for n := 14; n <= 26; n++ {
		for seed := range uint64(15) {
			rng := newRand(seed)
			b, columns := solvableBoard(rng, fmt.Sprintf("n=%d, seed %d", n, seed), n, rng.IntN(3))
			for _, row := range rng.Perm(n)[:rng.IntN(5)] {
				b.board.Allow[row] = 1 << columns[row]
			}
			b.addShort(columns, rng.IntN(n/2))
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
			check(b)
		}
	}
}
