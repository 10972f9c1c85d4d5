package queens_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"nqueens/pkg/queens"
)

// A full board of any side allows all its squares and no others.
func TestFullBoard(t *testing.T) {
	for n := 1; n <= queens.MaxN; n++ {
		b := queens.FullBoard(n)
		if b.N != n || bits.OnesCount32(b.Columns()) != n || bits.Len32(b.Columns()) != n {
			t.Errorf("FullBoard(%d) has side %d and columns %#x", n, b.N, b.Columns())
		}
		for row, allow := range b.Allow {
			for col := range queens.MaxN {
				if want := row < n && col < n; has(allow, col) != want {
					t.Errorf("FullBoard(%d): row %d, column %d allowed: %v, want %v", n, row, col, !want, want)
				}
			}
		}
	}
}

// ValidateN rejects sides that can't be counted, and FullBoard panics for them.
func TestValidateN(t *testing.T) {
	for n := 1; n <= queens.MaxN; n++ {
		if err := queens.ValidateN(n); err != nil {
			t.Errorf("ValidateN(%d): %v", n, err)
		}
	}
	for _, n := range []int{math.MinInt, -32, -1, 0, 33, 64, math.MaxInt} {
		if queens.ValidateN(n) == nil {
			t.Errorf("ValidateN(%d) returns no error", n)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("FullBoard(%d) does not panic", n)
				}
			}()
			queens.FullBoard(n)
		}()
	}
}

// The prefix of any queens on any board is valid, even if they attack each other. It has the same
// attacked and free squares as plain flags for columns and diagonals.
func TestPlace(t *testing.T) {
	for n := 1; n <= queens.MaxN; n++ {
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, uint64(n)))
			b := randomBoard(rng, n, int(seed)%4)
			columns := rng.Perm(n)
			if seed%2 == 0 {
				columns = placeRandomly(rng, &b)
			}
			var p queens.Prefix
			flags := newFlags(n)
			for row, col := range columns {
				flags.compare(t, &b, p, row)
				p = p.Place(&b, 1<<col)
				flags.place(row, col)
			}
			flags.compare(t, &b, p, len(columns))
			if t.Failed() {
				t.Fatalf("n=%d, seed %d: columns %v", n, seed, columns)
			}
		}
	}
}

// A queen at the edge of a board attacks nothing beyond the edge, also on the widest board.
func TestPlaceAtTheEdge(t *testing.T) {
	for _, c := range []struct {
		n, col int
		want   queens.Prefix
	}{
		{n: 1, col: 0, want: queens.Prefix{Row: 1, Cols: 1}},
		{n: 2, col: 0, want: queens.Prefix{Row: 1, Cols: 1, Left: 2}},
		{n: 2, col: 1, want: queens.Prefix{Row: 1, Cols: 2, Right: 1}},
		{n: 8, col: 7, want: queens.Prefix{Row: 1, Cols: 0x80, Right: 0x40}},
		{n: 8, col: 3, want: queens.Prefix{Row: 1, Cols: 0x08, Left: 0x10, Right: 0x04}},
		{n: 32, col: 30, want: queens.Prefix{Row: 1, Cols: 1 << 30, Left: 1 << 31, Right: 1 << 29}},
		{n: 32, col: 31, want: queens.Prefix{Row: 1, Cols: 1 << 31, Right: 1 << 30}},
	} {
		b := queens.FullBoard(c.n)
		if got := (queens.Prefix{}).Place(&b, 1<<c.col); got != c.want {
			t.Errorf("n=%d: a queen on column %d leaves %+v, want %+v", c.n, c.col, got, c.want)
		}
	}
}

// Each call of Preplace forbids the squares that the queen attacks. The queen's row then allows
// only its square, even if an earlier queen attacks it.
func TestPreplace(t *testing.T) {
	for n := 1; n <= queens.MaxN; n++ {
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, uint64(n)))
			b := randomBoard(rng, n, int(seed)%4)
			squares := squaresOf(&b)
			for range 1 + rng.IntN(4) {
				row, col := rng.IntN(n), rng.IntN(n)
				b.Preplace(row, col)
				preplaceOn(squares, row, col)
			}
			compareSquares(t, &b, squares)
		}
	}
}

// A queen on any square, also in the corners of the widest board, forbids exactly the squares that
// it attacks.
func TestPreplaceOnEverySquare(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 31, 32} {
		for row := range n {
			for col := range n {
				b := queens.FullBoard(n)
				squares := squaresOf(&b)
				b.Preplace(row, col)
				preplaceOn(squares, row, col)
				compareSquares(t, &b, squares)
			}
		}
	}
}

// Preplace allows the queen's square even if it was not allowed before.
func TestPreplaceOnForbiddenSquare(t *testing.T) {
	b := queens.Board{N: 32}
	b.Preplace(0, 31)
	b.Preplace(31, 0) // on a diagonal of the first queen, whose square is no longer allowed
	if want := (queens.Board{N: 32, Allow: [queens.MaxN]uint32{31: 1}}); b != want {
		t.Errorf("the board allows %#x", b.Allow)
	}
}

// squaresOf returns the allowed squares as squares[row][col].
func squaresOf(b *queens.Board) [][]bool {
	squares := make([][]bool, b.N)
	for row := range squares {
		squares[row] = make([]bool, b.N)
		for col := range squares[row] {
			squares[row][col] = has(b.Allow[row], col)
		}
	}
	return squares
}

// preplaceOn does what Preplace does, one square at a time.
func preplaceOn(squares [][]bool, row, col int) {
	for r := range squares {
		for c := range squares[r] {
			if r == row || c == col || r-row == c-col || r-row == col-c {
				squares[r][c] = r == row && c == col
			}
		}
	}
}

func compareSquares(t *testing.T, b *queens.Board, squares [][]bool) {
	t.Helper()
	for row := range squares {
		for col, want := range squares[row] {
			if has(b.Allow[row], col) != want {
				t.Fatalf("n=%d: row %d, column %d allowed: %v, want %v", b.N, row, col, !want, want)
			}
		}
	}
	if err := b.Validate(); err != nil {
		t.Errorf("n=%d: %v", b.N, err)
	}
}

// flags has a flag for each column and diagonal of a board. A flag is set if a queen stands on its
// line.
type flags struct {
	n                       int
	column, sum, difference []bool // by column, by row+col, and by row-col+n
}

func newFlags(n int) *flags {
	return &flags{n: n, column: make([]bool, n), sum: make([]bool, 2*n), difference: make([]bool, 2*n)}
}

func (f *flags) place(row, col int) {
	f.column[col], f.sum[row+col], f.difference[row-col+f.n] = true, true, true
}

// compare compares a prefix with the flags.
func (f *flags) compare(t *testing.T, b *queens.Board, p queens.Prefix, rows int) {
	t.Helper()
	if p.Row != rows {
		t.Errorf("prefix %+v after %d queens", p, rows)
	}
	if err := p.Validate(b); err != nil {
		t.Errorf("%+v: %v", p, err)
	}
	var cols, left, right, free uint32
	for col := range f.n {
		square := uint32(1) << col
		if f.column[col] {
			cols |= square
		}
		if rows == f.n {
			continue // There is no such row: the diagonals end above it.
		}
		if f.difference[rows-col+f.n] {
			left |= square
		}
		if f.sum[rows+col] {
			right |= square
		}
		if has(b.Allow[rows], col) && !f.column[col] && !f.difference[rows-col+f.n] && !f.sum[rows+col] {
			free |= square
		}
	}
	if p.Cols != cols {
		t.Errorf("%d rows: columns %#x, want %#x", rows, p.Cols, cols)
	}
	if rows == f.n {
		return
	}
	if p.Left != left || p.Right != right {
		t.Errorf("%d rows: diagonals %#x and %#x, want %#x and %#x", rows, p.Left, p.Right, left, right)
	}
	if got := p.Free(b); got != free {
		t.Errorf("%d rows: free %#x, want %#x", rows, got, free)
	}
}

// randomBoard returns a board that allows about a quarter, half, or three quarters of its
// squares, or all of them.
func randomBoard(rng *rand.Rand, n, density int) queens.Board {
	b := queens.FullBoard(n)
	for row := range n {
		x, y := rng.Uint32(), rng.Uint32()
		b.Allow[row] &= [4]uint32{x & y, x, x | y, 0xffffffff}[density]
	}
	return b
}

// placeRandomly places queens on random free squares, row by row, until a row has none.
func placeRandomly(rng *rand.Rand, b *queens.Board) []int {
	var columns []int
	var p queens.Prefix
	for p.Row < b.N && p.Free(b) != 0 {
		col := rng.IntN(b.N)
		if has(p.Free(b), col) {
			columns = append(columns, col)
			p = p.Place(b, 1<<col)
		}
	}
	return columns
}

func has(mask uint32, col int) bool { return mask>>col&1 == 1 }
