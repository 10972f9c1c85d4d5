package split_test

import (
	"math/rand/v2"

	"nqueens/pkg/queens"
)

// placements returns the prefixes of the given depth in order, by a search over arrays.
func placements(b *queens.Board, depth int) []queens.Prefix {
	var found []queens.Prefix
	columns := make([]int, 0, depth)
	var search func()
	search = func() {
		row := len(columns)
		if row == depth {
			found = append(found, state(b.N, columns))
			return
		}
		for col := range b.N {
			if has(b.Allow[row], col) && !attacked(columns, col) {
				columns = append(columns, col)
				search()
				columns = columns[:row]
			}
		}
	}
	search()
	return found
}

// attacked reports whether queens on the columns of the rows above attack a column
// of the next row.
func attacked(columns []int, col int) bool {
	for row, above := range columns {
		apart := len(columns) - row
		if above == col || above == col-apart || above == col+apart {
			return true
		}
	}
	return false
}

// state returns the prefix of queens on the given columns: what they attack in the next row.
func state(n int, columns []int) queens.Prefix {
	p := queens.Prefix{Row: len(columns)}
	for row, col := range columns {
		apart := len(columns) - row
		p.Cols |= 1 << col
		if col+apart < n {
			p.Left |= 1 << (col + apart)
		}
		if col-apart >= 0 {
			p.Right |= 1 << (col - apart)
		}
	}
	return p
}

// randomBoard returns a board that allows a random part of its squares: about half of them or more.
func randomBoard(rng *rand.Rand, n, density int) queens.Board {
	b := queens.FullBoard(n)
	for row := range n {
		x, y, z := rng.Uint32(), rng.Uint32(), rng.Uint32()
		b.Allow[row] &= [4]uint32{x, x | y, x | y | z, 0xffffffff}[density]
	}
	return b
}

func has(mask uint32, col int) bool { return col >= 0 && mask>>col&1 == 1 }
