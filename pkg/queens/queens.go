// Package queens has the data that the whole program shares: boards, prefixes, classes, tasks,
// results and manifests, the known totals, and the errors that decide exit codes. It does no I/O
// and starts no goroutine. Every other package may import it.
//
// Everywhere in the program row 0 is the top row, and bit i of a row's mask is column i.
package queens

import (
	"fmt"
	"math/bits"
)

// MaxN is the greatest side of a board: a row is one 32-bit mask.
const MaxN = 32

// Board is a board: its side and, for each row, the squares on which a queen may stand. A full
// board allows every square. The board of a class, or a board with queens placed beforehand, may
// allow fewer.
type Board struct {
	// N is the side, 1..MaxN.
	N int
	// Allow[row] has bit i set if a queen may stand on column i of that row. Rows from N
	// on are 0.
	Allow [MaxN]uint32
}

// FullBoard returns the board of side n on which every square is allowed.
// It panics unless 1 <= n <= MaxN: check input with [ValidateN] first.
func FullBoard(n int) Board {
	if err := ValidateN(n); err != nil {
		panic(err)
	}
	b := Board{N: n}
	for row := range n {
		b.Allow[row] = b.Columns()
	}
	return b
}

// ValidateN returns an error unless this program can count boards of side n.
func ValidateN(n int) error {
	if n < 1 || n > MaxN {
		return fmt.Errorf("side of the board must be from 1 to %d, not %d", MaxN, n)
	}
	return nil
}

// Columns returns the mask of all N columns.
func (b *Board) Columns() uint32 {
	return uint32(1<<uint(b.N) - 1)
}

// Preplace places a queen on a square beforehand. Then the row of the queen allows only this
// square, and other rows allow no square that the queen attacks. The square need not have been
// allowed.
func (b *Board) Preplace(row, column int) {
	for other := range b.N {
		distance := max(other-row, row-other)
		attacked := uint64(1)<<column | uint64(1)<<(column+distance) | uint64(1)<<column>>distance
		b.Allow[other] &^= uint32(attacked)
	}
	b.Allow[row] = 1 << column
}

// Validate returns the first thing that is wrong with a board. Boards from outside need it.
func (b *Board) Validate() error {
	if err := ValidateN(b.N); err != nil {
		return err
	}
	for row, allow := range b.Allow {
		switch {
		case row >= b.N && allow != 0:
			return fmt.Errorf("board of side %d allows squares on row %d", b.N, row)
		case allow&^b.Columns() != 0:
			return fmt.Errorf("row %d allows columns %#x beyond a board of side %d", row, allow, b.N)
		}
	}
	return nil
}

// Prefix is the state of the search after queens were placed on rows 0..Row-1: the columns
// that they attack in row Row. The zero Prefix is the empty board.
type Prefix struct {
	// Row is the first row without a queen, 0..N. A prefix of N rows is a solution.
	Row int
	// Cols has a bit for each column that holds a queen.
	Cols uint32
	// Left has a bit for each column that is attacked along a diagonal whose column rises by 1 from
	// row to row. Right has a bit for each column that is attacked along a diagonal whose column falls
	// by 1. No bit from N on is set.
	Left, Right uint32
}

// Free returns the squares of row Row on which the next queen may stand. It must not be
// called on a prefix of all N rows.
func (p Prefix) Free(b *Board) uint32 {
	return b.Allow[p.Row] &^ (p.Cols | p.Left | p.Right)
}

// Place returns the prefix with one more queen, on row Row. The parameter square is a mask with one
// bit.
func (p Prefix) Place(b *Board, square uint32) Prefix {
	return Prefix{
		Row:   p.Row + 1,
		Cols:  p.Cols | square,
		Left:  (p.Left | square) << 1 & b.Columns(),
		Right: (p.Right | square) >> 1,
	}
}

// Validate returns the first thing that is wrong with a prefix of board b. It checks what kernels
// rely on, but can't know whether any queens lead to the prefix.
func (p Prefix) Validate(b *Board) error {
	switch {
	case p.Row < 0 || p.Row > b.N:
		return fmt.Errorf("prefix of %d rows on a board of side %d", p.Row, b.N)
	case bits.OnesCount32(p.Cols) != p.Row:
		return fmt.Errorf("prefix of %d rows with %d columns taken", p.Row, bits.OnesCount32(p.Cols))
	case (p.Cols|p.Left|p.Right)&^b.Columns() != 0:
		return fmt.Errorf("prefix (%#x, %#x, %#x) passes a board of side %d", p.Cols, p.Left, p.Right,
			b.N)
	}
	return nil
}

// MaxWeight is the greatest weight of a class: the number of symmetries of the square.
const MaxWeight = 8

// Class is a board and its weight.
type Class struct {
	// Weight is 1, 2, 4 or 8: how many solutions of the whole board each solution of Board stands for.
	Weight int   `json:"weight"`
	Board  Board `json:"allow"`
}

// ValidateWeight returns an error unless a class can have this weight: 1, 2, 4 or 8.
func ValidateWeight(weight int) error {
	if weight < 1 || weight > MaxWeight || weight&(weight-1) != 0 {
		return fmt.Errorf("weight %d, not 1, 2, 4 or %d", weight, MaxWeight)
	}
	return nil
}

// Symmetry is a way to reduce a count to classes. On a board of side 1, each symmetry has one class
// of weight 1.
type Symmetry string

// The symmetries.
const (
	// Full uses all eight symmetries of the square: weights 8, 4 and 2.
	Full Symmetry = "full"
	// None counts every solution: one class, weight 1.
	None Symmetry = "none"
	// Mirror counts one solution of each left-right pair: weight 2.
	Mirror Symmetry = "mirror"
)

// Validate returns an error unless s is one of the symmetries.
func (s Symmetry) Validate() error {
	if s == Full || s == None || s == Mirror {
		return nil
	}
	return fmt.Errorf("no symmetry is %.80q", string(s))
}
