package kernel_test

import (
	"os"
	"strings"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// count returns the number of ways to place a queen on each row. allow has the squares that
// each row allows. Queens above attack the columns cols, left and right of the first row.
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

// docs/symmetry.md has the function above, and it counts right.
func TestGeneratedCode(t *testing.T) {
	source, err := os.ReadFile("page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	begin := strings.Index(string(source), "// count returns")
	code, _, _ := strings.Cut(string(source)[begin:], "\n\n")
	testkit.Generated(t, "code", "```go\n"+code+"\n```\n")
	for n := 1; n <= 9; n++ {
		board := queens.FullBoard(n)
		known, _ := queens.KnownTotal(n)
		if got := count(board.Allow[:n], 0, 0, 0); got != known.Uint64() {
			t.Errorf("n = %d: the page's code counts %d, want %v", n, got, known)
		}
	}
}
