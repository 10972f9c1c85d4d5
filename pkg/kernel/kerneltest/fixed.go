package kerneltest

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"nqueens/pkg/queens"
)

// A kernel may fix the queens of rows with a single allowed square first, and then search the rows
// that are left, with gaps between them. The properties of this file are for such kernels.

// fixedSides are sides of boards with fixed rows.
var fixedSides = []int{8, 12, 16, 17, 18, 20, 24, queens.MaxN}

// directions are the columns to the right that an attack takes with each row.
var directions = []int{-1, 0, 1}

// drawRows returns different random rows from first to end-1.
func drawRows(rng *rand.Rand, count, first, end int) []int {
	rows := span(first, end)
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows[:count]
}

// apart returns a random square on each of two rows, the second the given number of columns to the
// right of the first, both in columns from lo to hi-1. There must be such squares.
func apart(rng *rand.Rand, row1, row2, right, lo, hi int) []queens.Square {
	first := lo + max(0, -right)
	col := first + rng.IntN(hi-max(0, right)-first)
	return []queens.Square{{Row: row1, Column: col}, {Row: row2, Column: col + right}}
}

// leaves reports whether the given rows have a choice of squares after all rows with a single one
// from depth on are fixed.
func (b *batch) leaves(depth int, rows []int) bool {
	board := fix(b.board, depth)
	return !slices.ContainsFunc(rows, func(row int) bool { return bits.OnesCount32(board.Allow[row]) < 2 })
}

// fixing returns the batch of the placements' prefixes on a board on which, from depth on, the
// given rows are fixed and no others. The placements must have the same queens on these rows.
func (w window) fixing(name string, depth int, rows []int, placements ...[]int) *batch {
	b := w.batch(fmt.Sprintf("%s, depth %d, rows %v fixed", name, depth, rows), placements...)
	left := span(depth, w.n)
	for _, s := range squares(placements[0], rows...) {
		b.board.Allow[s.Row] = 1 << s.Column
		left = slices.DeleteFunc(left, func(row int) bool { return row == s.Row })
	}
	if !b.leaves(depth, left) {
		return nil
	}
	return b.addAll(depth, placements...)
}

// fixedBut returns the batch of one prefix, of a placement with the given queens. Below it, the
// rows left allow the squares of the board within, and the others are fixed.
func (w window) fixedBut(rng *rand.Rand, depth int, left []int, within queens.Board, given ...queens.Square) *batch {
	columns := placement(rng, within, given...)
	b := newBatch(fmt.Sprintf("%v, depth %d, rows %v left, queens on %v", w, depth, left, given), queens.Board{N: w.n})
	b.allow(columns)
	for row := range depth {
		b.board.Allow[row] = rng.Uint32() & b.board.Columns()
	}
	for _, row := range left {
		b.board.Allow[row] = within.Allow[row]
	}
	if columns == nil || !b.leaves(depth, left) {
		return nil
	}
	return b.addAll(depth, columns)
}

// within returns the board on which the given rows allow the window's columns and the others all.
func (w window) within(rows []int) queens.Board {
	board := queens.FullBoard(w.n)
	for _, row := range rows {
		board.Allow[row] = w.mask()
	}
	return board
}

// Two fixed rows that attack each other leave no solution.
func fixedAttackFixed(check func(*batch)) {
	for _, n := range fixedSides {
		rng := newRand(uint64(n))
		for _, w := range windows(n) {
			for _, direction := range directions {
				for _, depth := range []int{0, 2} {
					check(construct(func() *batch {
						rows := drawRows(rng, 2, depth, n)
						pair := apart(rng, rows[0], rows[1], direction*(rows[1]-rows[0]), 0, n)
						return w.fixing("attack each other", depth, rows, placement(rng, queens.FullBoard(n), pair...))
					}).mustCount(0))
				}
			}
		}
	}
}

// Prefixes that attack a fixed row have no solution; others of the batch have.
func prefixAttacksFixed(check func(*batch)) {
	for _, n := range fixedSides {
		rng, depth := newRand(uint64(n)), n/3
		for _, w := range windows(n) {
			check(construct(func() *batch {
				fixed := queens.Square{Row: depth + rng.IntN(n-depth), Column: rng.IntN(n)}
				placements := [][]int{placement(rng, queens.FullBoard(n), fixed)}
				for _, direction := range directions {
					upper := queens.Square{Row: rng.IntN(depth)}
					upper.Column = fixed.Column - direction*(fixed.Row-upper.Row)
					if upper.Column < 0 || upper.Column >= n {
						return nil
					}
					placements = append(placements, placement(rng, queens.FullBoard(n), upper, fixed))
				}
				return w.fixing("attacked by prefixes", depth, []int{fixed.Row}, append(placements, placements[0])...)
			}))
		}
	}
}

// A fixed row attacks the rows that are left, above it and below it.
func fixedAttackLeft(check func(*batch)) {
	for _, n := range fixedSides {
		rng := newRand(uint64(n))
		for _, w := range windows(n) {
			for _, direction := range directions {
				for _, depth := range []int{0, 2} {
					for _, above := range []bool{false, true} {
						check(construct(func() *batch {
							rows := drawRows(rng, 4, depth, n)
							if above != (rows[0] < rows[1]) {
								return nil
							}
							fixed, left := rows[1:], rows[0]
							wrong := placement(rng, queens.FullBoard(n), apart(rng, left, fixed[0], direction*(fixed[0]-left), 0, n)...)
							right := placement(rng, queens.FullBoard(n), squares(wrong, fixed...)...)
							return w.fixing(fmt.Sprintf("row %d is attacked", left), depth, fixed, wrong, right)
						}))
					}
				}
			}
		}
	}
}

// Fixing one row leaves another a single square, and so on through a chain of rows. The last of
// them may attack the one before it, or a prefix the last.
func chains(check func(*batch)) {
	const depth, length = 2, 5
	for _, n := range fixedSides {
		rng := newRand(uint64(n))
		for _, w := range windows(n) {
			for range 2 {
				check(construct(func() *batch {
					return w.chain(rng, "solution", depth, drawRows(rng, length, depth, n))
				}))
			}
			for _, direction := range directions {
				check(construct(func() *batch {
					rows := drawRows(rng, length, depth, n)
					last, before := rows[length-1], rows[length-2]
					return w.chain(rng, "the end attacks itself", depth, rows, apart(rng, before, last, direction*(last-before), 0, n)...)
				}))
				check(construct(func() *batch {
					rows := drawRows(rng, length, depth, n)
					upper, last := rng.IntN(depth), rows[length-1]
					return w.chain(rng, "a prefix attacks the end", depth, rows, apart(rng, upper, last, direction*(last-upper), 0, n)...)
				}))
			}
		}
	}
}

// chain returns the batch of a placement's prefix. The first of the rows allows the queen alone,
// and each other one a second square, which the queen of the row before it attacks, and no earlier
// one.
func (w window) chain(rng *rand.Rand, name string, depth int, rows []int, given ...queens.Square) *batch {
	columns := placement(rng, queens.FullBoard(w.n), given...)
	if columns == nil {
		return nil
	}
	b := w.batch(fmt.Sprintf("%s, depth %d, chain of rows %v, queens on %v", name, depth, rows, given), columns)
	chain := squares(columns, rows...)
	b.board.Allow[rows[0]] = 1 << columns[rows[0]]
	for i := 1; i < len(chain); i++ {
		b.board.Allow[rows[i]] = 1 << columns[rows[i]]
		attacked := uint32(0)
		for col := range w.n {
			s := queens.Square{Row: rows[i], Column: col}
			earlier := slices.ContainsFunc(chain[:i-1], s.Attacks)
			if s != chain[i] && s.Attacks(chain[i-1]) && !earlier {
				attacked = 1 << col
			}
		}
		if attacked == 0 {
			return nil
		}
		b.board.Allow[rows[i]] |= attacked
	}
	return b.addAll(depth, columns)
}

// Rows above the prefixes' depth don't matter, whether they allow one square, which attacks a queen
// below, or none.
func fixedAbove(check func(*batch)) {
	for _, n := range fixedSides {
		rng := newRand(uint64(n))
		for _, w := range windows(n) {
			for depth := 1; depth <= n/2; depth++ {
				check(construct(func() *batch {
					columns := solution(rng, n)
					below := squares(columns, span(depth, n)...)
					b := w.batch(fmt.Sprintf("depth %d", depth), columns)
					for row := range depth {
						b.board.Allow[row] = 0
						for _, col := range rng.Perm(n) {
							s := queens.Square{Row: row, Column: col}
							if slices.ContainsFunc(below, s.Attacks) && col != columns[row] {
								b.board.Allow[row] = 1 << col
								break
							}
						}
					}
					return b.addAll(depth, columns)
				}))
			}
		}
	}
}

// The row right below the prefixes is fixed, and up to four more. Queens above that gap attack the
// first row that is left at their true distance only.
func firstRowsFixed(check func(*batch)) {
	for _, n := range []int{14, 17, 20} {
		rng := newRand(uint64(n))
		for _, w := range windows(n) {
			for gap := 1; gap <= 5; gap++ {
				depth := n - 6 - gap
				left := span(depth+gap, n)
				for _, above := range []int{1, 2} {
					for _, rows := range []int{above, above + gap} {
						check(w.gap(rng, depth, left, depth-above, left[0], rows))
					}
				}
			}
		}
	}
}

// gap returns a batch of one prefix on a board whose rows below it are fixed but those left. On two
// rows, queens stand as far apart as queens that attack each other on rows of the given distance.
func (w window) gap(rng *rand.Rand, depth int, left []int, row1, row2, distance int) *batch {
	return construct(func() *batch {
		right := distance
		if rng.IntN(2) == 0 {
			right = -right
		}
		return w.fixedBut(rng, depth, left, w.within(left), apart(rng, row1, row2, right, w.lo, w.hi)...)
	})
}

// Any of the last four rows are fixed. Queens on two of the last four rows that are left attack
// each other at the distance of the rows, not at the number of rows left between them.
func lastRowsFixed(check func(*batch)) {
	for _, n := range []int{12, 20} {
		rng, depth := newRand(uint64(n)), n-9
		for fixed := 1; fixed < 16; fixed++ {
			left := slices.DeleteFunc(span(depth, n), func(row int) bool { return has(uint32(fixed), n-1-row) })
			last := left[len(left)-4:]
			for i, upper := range last {
				for j, lower := range last[i+1:] {
					all := windows(n)
					w := all[rng.IntN(len(all))]
					check(w.gap(rng, depth, left, upper, lower, lower-upper))
					if rows := j + 1; rows != lower-upper {
						check(w.gap(rng, depth, left, upper, lower, rows))
					}
				}
			}
		}
	}
}

// All rows below the prefixes are fixed, or all but one, or all but two.
func fewRowsLeft(check func(*batch)) {
	const depth = 4
	for _, n := range fixedSides {
		rng := newRand(uint64(n))
		for _, w := range windows(n) {
			for rows := range 3 {
				check(construct(func() *batch {
					left := drawRows(rng, rows, depth, n)
					slices.Sort(left)
					return w.fixedBut(rng, depth, left, queens.FullBoard(n)).addChoices(left)
				}))
			}
			for range 4 {
				left := drawRows(rng, 2, depth, min(n, depth+8))
				slices.Sort(left)
				check(w.gap(rng, depth, left, left[0], left[1], left[1]-left[0]))
				check(w.gap(rng, depth, left, left[0], left[1], 1))
			}
		}
	}
}

// addChoices adds prefixes with every choice of the columns that no row is fixed to, without
// diagonals. It returns nil unless one of them has two solutions, where two rows are left.
func (b *batch) addChoices(left []int) *batch {
	if b == nil {
		return nil
	}
	depth := b.prefixes[0].Row
	board := fix(b.board, depth)
	open := board.Columns()
	for row := depth; row < b.board.N; row++ {
		if slices.Contains(left, row) {
			b.board.Allow[row] = board.Columns()
		} else {
			open &^= board.Allow[row]
		}
	}
	for cols := open; cols != 0; cols = (cols - 1) & open {
		if bits.OnesCount32(cols) == depth {
			b.addState(queens.Prefix{Row: depth, Cols: cols})
		}
	}
	if slices.Max(b.wants) < uint64(len(left)) {
		return nil
	}
	return b
}

// Rows left on a board of side 32 are more than 15 rows apart, or that far below the prefixes: no
// diagonal of a window of 16 columns leads from one to the other.
func longGaps(check func(*batch)) {
	for _, w := range windows(queens.MaxN) {
		rng := newRand(uint64(w.lo))
		for gap := 14; gap <= 20; gap++ {
			for _, depth := range []int{3, 6} {
				between := []int{depth, depth + 1, depth + 1 + gap, depth + 3 + gap, depth + 4 + gap}
				last := []int{depth, depth + 1, depth + 2, depth + 2 + gap}
				below := span(depth+gap, depth+gap+4)
				// The queens stand as if the shift by the gap were one by the gap modulo 16.
				if distance := gap % 16; distance > 0 {
					check(w.gap(rng, depth, between, between[1], between[2], distance))
					check(w.gap(rng, depth, last, last[2], last[3], distance))
				}
				if distance := 1 + gap%16; distance < 16 {
					check(w.gap(rng, depth, below, depth-1, below[0], distance))
				}
			}
		}
	}
}

// Prefixes of different depths are below different fixed rows, on which they have other queens.
func mixedDepths(check func(*batch)) {
	for _, n := range []int{16, 17, 18, 20} {
		rng := newRand(uint64(n))
		for _, w := range windows(n) {
			check(construct(func() *batch {
				fixed := drawRows(rng, 3, 2, n-1)
				slices.Sort(fixed)
				placements := [][]int{solution(rng, n)}
				for i := range fixed {
					other := solution(rng, n, squares(placements[0], fixed[i+1:]...)...)
					if other[fixed[i]] == placements[0][fixed[i]] {
						return nil
					}
					placements = append(placements, other)
				}
				b := w.batch(fmt.Sprintf("rows %v fixed", fixed), placements...)
				for _, s := range squares(placements[0], fixed...) {
					b.board.Allow[s.Row] = 1 << s.Column
				}
				for i, columns := range placements {
					depth := 0
					if i > 0 {
						depth = fixed[i-1] + 1
					}
					if b.addAll(depth, columns) == nil {
						return nil
					}
				}
				return b
			}))
		}
	}
}

// Up to seven fixed rows are among ten that allow all squares. The search visits thousands of
// states.
func largeSearches(check func(*batch)) {
	for n := 12; n <= 17; n++ {
		rng := newRand(uint64(n))
		for range 3 {
			check(construct(func() *batch {
				columns, fixed := solution(rng, n), drawRows(rng, n-10, 0, n)
				b := newBatch(fmt.Sprintf("n=%d, rows %v fixed", n, fixed), queens.FullBoard(n))
				for _, row := range fixed {
					b.board.Allow[row] = 1 << columns[row]
				}
				if isShort(&b.board, queens.Prefix{}) {
					return nil
				}
				b.add(nil)
				return b
			}))
		}
	}
}
