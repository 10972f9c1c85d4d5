package kernel_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// count returns the number of ways to place a queen on each of the rows below, which
// allow those squares, from a state of the first of them.
func count(allow []uint32, cols, left, right uint32) uint64 {
	if len(allow) == 0 {
		return 1
	}
	var found uint64
	for free := allow[0] &^ (cols | left | right); free != 0; free &= free - 1 {
		queen := free & -free
		found += count(allow[1:], cols|queen, (left|queen)<<1, (right|queen)>>1)
	}
	return found
}

// docs/dev/bitmasks.md has the function above, and it counts right.
func TestGeneratedCode(t *testing.T) {
	source, err := os.ReadFile("page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	begin := strings.Index(string(source), "// count returns")
	code, _, _ := strings.Cut(string(source)[begin:], "\n\n")
	testkit.Generated(t, "docs/dev/bitmasks.md", "code", "```go\n"+code+"\n```\n")
	for n := 1; n <= 9; n++ {
		board := queens.FullBoard(n)
		known, _ := queens.KnownTotal(n)
		if got := count(board.Allow[:n], 0, 0, 0); got != known.Uint64() {
			t.Errorf("n = %d: the page's code counts %d, want %v", n, got, known)
		}
	}
}

// docs/dev/bitmasks.md has the steps of a search: each line is the state of its row after the queens of the lines
// before, with the free squares that are still to be tried.
func TestGeneratedSteps(t *testing.T) {
	const start = 2 // the first row without a queen
	board := queens.FullBoard(6)
	var states [7]queens.Prefix
	states[start] = states[0].Place(&board, 1<<1).Place(&board, 1<<3)
	var tried [6]uint32
	row := start
	untried := func() uint32 { return states[row].Free(&board) &^ tried[row] }
	table := "| step | row | cols | left | right | free | queen |\n|---:|---:|---|---|---|---|---|\n"
	for step := 1; row < board.N; step++ {
		p, free := states[row], untried()
		queen := free & -free
		line := fmt.Sprintf("| %d | %d | %06b | %06b | %06b | %06b | ", step, row, p.Cols, p.Left, p.Right, free)
		if queen != 0 {
			table += line + fmt.Sprintf("%06b |\n", queen)
			tried[row] |= queen
			states[row+1] = p.Place(&board, queen)
			row++
			continue
		}
		table += line + "none |\n"
		for untried() == 0 { // a dead end: back to a row with squares left
			tried[row] = 0
			row--
		}
	}
	testkit.Generated(t, "docs/dev/bitmasks.md", "steps", table)
}
