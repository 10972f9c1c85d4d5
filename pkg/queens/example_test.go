package queens_test

import (
	"fmt"

	"nqueens/pkg/queens"
)

// A plain search over prefixes counts the solutions on any board.
func ExamplePrefix() {
	var count func(b *queens.Board, p queens.Prefix) int
	count = func(b *queens.Board, p queens.Prefix) int {
		if p.Row == b.N {
			return 1
		}
		solutions := 0
		for free := p.Free(b); free != 0; free &= free - 1 {
			solutions += count(b, p.Place(b, free&-free))
		}
		return solutions
	}
	board := queens.FullBoard(8)
	fmt.Println(count(&board, queens.Prefix{}))
	board.Preplace(0, 3)
	fmt.Println(count(&board, queens.Prefix{}))
	// Output:
	// 92
	// 18
}

func ExampleParseSquare() {
	square, err := queens.ParseSquare(8, "0,3")
	fmt.Println(square, err)
	_, err = queens.ParseSquare(8, "8,0")
	fmt.Println(err)
	// Output:
	// 0,3 <nil>
	// "8,0" is not a square of a board of side 8: it must be row,column, each from 0 to 7, counted from the top left
}

func ExampleKnownTotal() {
	total, ok := queens.KnownTotal(20)
	fmt.Println(total, ok)
	_, ok = queens.KnownTotal(28)
	fmt.Println(ok)
	// Output:
	// 39029188884 true
	// false
}
