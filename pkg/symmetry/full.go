package symmetry

import "nqueens/pkg/queens"

// square is a row and a column of the board.
type square struct{ row, column int }

// pinwheels has the classes of each bound a < (n-1)/2: their tied sides and their weights. [full]
// explains these words. The field tied has a bit for each tied side other than the top: bit 0 for
// the right, 1 for the bottom, 2 for the left. Three combinations are left out, because quarter
// turns map their classes to others: {right} to {left}, and {right, bottom} and {bottom, left} to
// {right, left}.
var pinwheels = []struct {
	tied   uint
	weight int
}{
	{0b000, 8},
	{0b010, 4}, // a half turn maps the class to itself
	{0b100, 8},
	{0b101, 8},
	{0b111, 2}, // a quarter turn maps the class to itself
}

// full returns the classes under all eight symmetries of the square. docs/symmetry.md has the
// proof, and draws one class.
//
// Each side of the board has one queen on it. The distance of the side is how many squares this
// queen is from the nearer corner. The bound a of a solution is the greatest of its four distances.
// A class of bound a has only solutions of bound a whose top queen stands on column a. In a class,
// each of the other sides is either tied (its distance is also a) or strict (its distance is less).
//
// Eight classes for each bound, one for each set of tied sides, are also right. The five classes
// take 0.70 to 0.86 of their time (n = 16 to 20, avx512).
func full(board queens.Board) []queens.Class {
	last := board.N - 1
	var classes []queens.Class
	for a := 1; 2*a < last; a++ {
		// Each other side has two squares at distance a, but the top queen attacks one of them. The three
		// that remain form a pinwheel with the square of the top queen: quarter turns map the four to
		// each other.
		pinwheel := [4]square{{0, a}, {a, last}, {last, last - a}, {last - a, 0}}
		for _, p := range pinwheels {
			b := strict(board, a)
			for side, queen := range pinwheel {
				if (p.tied<<1|1)>>side&1 == 1 {
					b.Preplace(queen.row, queen.column)
				}
			}
			if p.tied == 0b010 || p.tied == 0 && outerIsBetter(board.N, a) {
				b = turned(&b)
			}
			classes = append(classes, queens.Class{Board: b, Weight: p.weight})
		}
	}
	if board.N%2 == 1 {
		// A queen in the middle of the top side attacks the middles of the other sides. The left-right
		// reflection maps the class to itself, and moves the queen of row 1, since that queen can't stand
		// on the middle column. So it is enough to count the solutions with that queen in the left half.
		b := strict(board, last/2)
		b.Preplace(0, last/2)
		b.Allow[1] &= 1<<(last/2) - 1
		classes = append(classes, queens.Class{Board: turned(&b), Weight: 8})
	}
	return classes
}

// strict returns the board without the squares of its right, bottom and left side whose distance is
// at least a.
func strict(board queens.Board, a int) queens.Board {
	last := board.N - 1
	for i := a; i <= last-a; i++ {
		board.Allow[i] &^= 1 | 1<<last
		board.Allow[last] &^= 1 << i
	}
	return board
}

// A class may be searched in any of its images, because all images have equally many solutions. A
// counterclockwise quarter turn moves the top queen to the left side, which is an outer column.
// Kernels with 16-bit lanes need not place a queen on an outer column that has one. The chosen
// images take at most 1.002 times the search steps of the best images (n = 18 to 22).

// outerIsBetter reports whether the class of bound a without tied sides is less work if it is
// turned.
func outerIsBetter(n, a int) bool {
	if n > 16 {
		return 2*a+2 < n-1
	}
	return 4*a <= n
}

// turned returns the board turned by a quarter, counterclockwise.
func turned(b *queens.Board) queens.Board {
	image := queens.Board{N: b.N}
	for row := range b.N {
		for column := range b.N {
			image.Allow[b.N-1-column] |= b.Allow[row] >> column & 1 << row
		}
	}
	return image
}
