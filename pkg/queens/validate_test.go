package queens_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/queens"
)

// validity is the result of validating a value, and a part of the expected error. The part is empty
// if the value is valid.
type validity struct {
	name string
	err  error
	says string
}

func checkAll(t *testing.T, cases []validity) {
	t.Helper()
	for _, c := range cases {
		switch {
		case c.says == "" && c.err != nil:
			t.Errorf("%s: %v, want it valid", c.name, c.err)
		case c.says != "" && c.err == nil:
			t.Errorf("%s: found valid, want an error about %q", c.name, c.says)
		case c.says != "" && !strings.Contains(c.err.Error(), c.says):
			t.Errorf("%s: %v: says nothing of %q", c.name, c.err, c.says)
		}
	}
}

// A board is valid if its side is in range and it allows no square beyond the side.
func TestBoardValidate(t *testing.T) {
	board := func(n int, change func(b *queens.Board)) error {
		b := queens.FullBoard(max(1, min(n, queens.MaxN)))
		b.N = n
		change(&b)
		return b.Validate()
	}
	as := func(*queens.Board) {}
	allow := func(row int, mask uint32) func(b *queens.Board) {
		return func(b *queens.Board) { b.Allow[row] |= mask }
	}
	empty := queens.Board{N: 8}
	checkAll(t, []validity{
		{"no side", board(0, as), "from 1 to 32"},
		{"negative side", board(-1, as), "from 1 to 32"},
		{"least side", board(math.MinInt, as), "from 1 to 32"},
		{"side 33", board(33, as), "from 1 to 32"},
		{"greatest side", board(math.MaxInt, as), "from 1 to 32"},
		{"no square at all", empty.Validate(), ""},
		{"column n", board(8, allow(0, 1<<8)), "row 0"},
		{"column n of the last row", board(8, allow(7, 1<<8)), "row 7"},
		{"column 31", board(31, allow(30, 1<<31)), "row 30"},
		{"column 1 of side 1", board(1, allow(0, 2)), "row 0"},
		{"row n", board(8, allow(8, 1)), "row 8"},
		{"row 31", board(31, allow(31, 1)), "row 31"},
		{"row 1 of side 1", board(1, allow(1, 1)), "row 1"},
	})
	for n := 1; n <= queens.MaxN; n++ {
		if err := board(n, as); err != nil {
			t.Errorf("full board of side %d: %v", n, err)
		}
	}
}

// A prefix is valid if its rows, columns and diagonals are on the board and it has a column for
// each row.
func TestPrefixValidate(t *testing.T) {
	const all = math.MaxUint32
	on := func(n int, p queens.Prefix) error {
		b := queens.FullBoard(n)
		return p.Validate(&b)
	}
	checkAll(t, []validity{
		{"empty", on(8, queens.Prefix{}), ""},
		{"a solution", on(1, queens.Prefix{Row: 1, Cols: 1}), ""},
		{"all attacked", on(8, queens.Prefix{Row: 1, Cols: 0x80, Left: 0xff, Right: 0xff}), ""},
		{"all 32 rows", on(32, queens.Prefix{Row: 32, Cols: all, Left: all, Right: all}), ""},
		{"no row, but diagonals", on(32, queens.Prefix{Left: all, Right: all}), ""},
		{"negative rows", on(8, queens.Prefix{Row: -1}), "-1 rows"},
		{"least rows", on(8, queens.Prefix{Row: math.MinInt}), "rows"},
		{"more rows than the board", on(8, queens.Prefix{Row: 9, Cols: 0x1ff}), "9 rows"},
		{"more rows than any board", on(32, queens.Prefix{Row: 33, Cols: all}), "33 rows"},
		{"a row without a column", on(8, queens.Prefix{Row: 1}), "0 columns"},
		{"fewer columns than rows", on(8, queens.Prefix{Row: 3, Cols: 3}), "2 columns"},
		{"more columns than rows", on(8, queens.Prefix{Row: 1, Cols: 3}), "2 columns"},
		{"a column without a row", on(8, queens.Prefix{Cols: 1}), "1 columns"},
		{"a column beyond", on(8, queens.Prefix{Row: 1, Cols: 1 << 8}), "passes"},
		{"a left diagonal beyond", on(8, queens.Prefix{Row: 1, Cols: 1, Left: 1 << 8}), "passes"},
		{"a right diagonal beyond", on(8, queens.Prefix{Row: 1, Cols: 1, Right: 1 << 8}), "passes"},
		{"bit 31 of side 31", on(31, queens.Prefix{Left: 1 << 31}), "passes"},
	})
}

// A task is valid if its run, its board and all its prefixes are valid, and if it has at least one
// prefix and not too many.
func TestTaskValidate(t *testing.T) {
	task := func(change func(t *queens.Task)) error {
		task := queens.Task{
			Run: "n8-20261120-153012-ab12", Board: queens.FullBoard(8),
			Prefixes: []queens.Prefix{{}, {Row: 1, Cols: 1, Left: 2}},
		}
		change(&task)
		return task.Validate()
	}
	prefixes := func(p ...queens.Prefix) func(*queens.Task) {
		return func(t *queens.Task) { t.Prefixes = p }
	}
	many := func(n int) []queens.Prefix { return make([]queens.Prefix, n) }
	checkAll(t, []validity{
		{"plain", task(func(*queens.Task) {}), ""},
		{"the greatest id", task(func(t *queens.Task) { t.ID = math.MaxUint64 }), ""},
		{"the largest batch", task(prefixes(many(queens.MaxBatch)...)), ""},
		{"no run", task(func(t *queens.Task) { t.Run = "" }), "run name"},
		{"a run that is a subject", task(func(t *queens.Task) { t.Run = "nq.task.>" }), "run name"},
		{"no board", task(func(t *queens.Task) { t.Board = queens.Board{} }), "from 1 to 32"},
		{"side 33", task(func(t *queens.Task) { t.Board.N = 33 }), "from 1 to 32"},
		{"negative side", task(func(t *queens.Task) { t.Board.N = -8 }), "from 1 to 32"},
		{"squares beyond", task(func(t *queens.Task) { t.Board.Allow[3] = 1 << 8 }), "row 3"},
		{"no prefixes", task(prefixes()), "0 prefixes"},
		{"too many prefixes", task(prefixes(many(queens.MaxBatch + 1)...)), "16385 prefixes"},
		{"a first prefix too long", task(prefixes(queens.Prefix{Row: 9, Cols: 0x1ff}, queens.Prefix{})),
			"9 rows"},
		{"a last prefix too long", task(prefixes(append(many(40), queens.Prefix{Row: 9})...)), "9 rows"},
		{"a prefix of another board", task(prefixes(queens.Prefix{Row: 1, Cols: 1 << 8})), "passes"},
	})
}

// The name of a run has 1 to 64 lower-case letters, digits and dashes, and no dash at the start.
// None of these characters is special in a subject, a path or a shell.
func TestValidateRun(t *testing.T) {
	for _, name := range []string{"a", "0", "n18-20261120-153012-ab12", "a-", "a--b",
		strings.Repeat("a", 64)} {
		if err := queens.ValidateRun(name); err != nil {
			t.Errorf("ValidateRun(%q): %v", name, err)
		}
	}
	for _, name := range []string{
		"", "-", "-a", "--help", strings.Repeat("a", 65), "A", "n18_a", "a.b", ".", "..", "../a", "a/b",
		`a\b`,
		"*", ">", "a.>", "a b", " a", "a ", "a\n", "a\x00", "\x00", "é", "a\u0430", "\xff", "$JS.API",
		"a:b", "~",
	} {
		if queens.ValidateRun(name) == nil {
			t.Errorf("ValidateRun(%q) returns no error", name)
		}
	}
	const atFirst, atLast = "abcdefghijklmnopqrstuvwxyz0123456789",
		"abcdefghijklmnopqrstuvwxyz0123456789-"
	for c := range 256 {
		letter := string([]byte{byte(c)})
		first, later := strings.Contains(atFirst, letter), strings.Contains(atLast, letter)
		if got := queens.ValidateRun(letter+"a") == nil; got != first {
			t.Errorf("ValidateRun(%q) is nil: %v, want %v", letter+"a", got, first)
		}
		if got := queens.ValidateRun("a"+letter) == nil; got != later {
			t.Errorf("ValidateRun(%q) is nil: %v, want %v", "a"+letter, got, later)
		}
	}
}

// An error about a value is one short line, even if the value is long.
func TestErrorsAreShort(t *testing.T) {
	huge := strings.Repeat("\x00\n", 1<<20)
	task, snapshot := queens.Task{Run: huge}, queens.Snapshot{Run: huge}
	errs := []error{
		queens.ValidateRun(huge), queens.ValidateMachine(huge), task.Validate(), snapshot.Validate(),
		queens.State(huge).Validate(),
	}
	if slices.Contains(errs, nil) {
		t.Fatalf("an error is missing among %v", errs)
	}
	for _, err := range errs {
		if len(err.Error()) > 1000 || strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of %d bytes: %.200q", len(err.Error()), err)
		}
	}
}
