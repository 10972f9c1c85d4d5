package kernel_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"nqueens/pkg/queens"
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

// The code of docs/bitmasks.md is the function above, character by character, and it counts right.
func TestPageCode(t *testing.T) {
	block := regexp.MustCompile("(?s)\n```go\n(.*?)```\n").FindAllStringSubmatch(read(t, "../../docs/bitmasks.md"), -1)
	if len(block) != 1 {
		t.Fatalf("docs/bitmasks.md has %d blocks of Go, not one", len(block))
	}
	if code := block[0][1]; !strings.Contains(read(t, "page_test.go"), "\n\n"+code+"\n") {
		t.Errorf("docs/bitmasks.md has other code than this test:\n%s", code)
	}
	for n := 1; n <= 9; n++ {
		board := queens.FullBoard(n)
		known, _ := queens.KnownTotal(n)
		if got := count(board.Allow[:n], 0, 0, 0); got != known.Uint64() {
			t.Errorf("n = %d: the page's code counts %d, want %v", n, got, known)
		}
	}
}

// The table of docs/bitmasks.md is a correct search: each line is the state of its row after the
// queens of the lines before, with the free squares that are still to be tried.
func TestPageTable(t *testing.T) {
	const start, steps = 2, 8 // the first row without a queen; lines
	board := queens.FullBoard(6)
	var states [7]queens.Prefix
	states[start] = states[0].Place(&board, 1<<1).Place(&board, 1<<3)
	var tried [6]uint32
	table := regexp.MustCompile(`(?m)^\| (\d) \| (\d) \| ([01]{6}) \| ([01]{6}) \| ([01]{6}) \| ([01]{6}) \| (\w+) \|$`).
		FindAllStringSubmatch(read(t, "../../docs/bitmasks.md"), -1)
	if len(table) != steps {
		t.Fatalf("docs/bitmasks.md has %d steps, not %d", len(table), steps)
	}
	row := start
	untried := func() uint32 { return states[row].Free(&board) &^ tried[row] }
	for i, line := range table {
		p, free := states[row], untried()
		queen := free & -free
		want := fmt.Sprintf("| %d | %d | %06b | %06b | %06b | %06b | %06b |", i+1, row, p.Cols, p.Left, p.Right, free, queen)
		if queen == 0 {
			want = strings.TrimSuffix(want, "000000 |") + "none |"
		}
		if line[0] != want {
			t.Fatalf("docs/bitmasks.md has the step\n%s\nwant\n%s", line[0], want)
		}
		if queen != 0 {
			tried[row] |= queen
			states[row+1] = p.Place(&board, queen)
			row++
			continue
		}
		for untried() == 0 { // a dead end: back to a row with squares left
			tried[row] = 0
			row--
		}
	}
	if row != board.N {
		t.Errorf("the last step of docs/bitmasks.md is in row %d, not the last", row-1)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
