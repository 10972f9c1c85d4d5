package queens_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/queens"
)

// Every square of every board is parsed from row and column.
func TestParseSquare(t *testing.T) {
	for n := 1; n <= queens.MaxN; n++ {
		for row := range n {
			for column := range n {
				want := queens.Square{Row: row, Column: column}
				if got, err := queens.ParseSquare(n, fmt.Sprintf("%d,%d", row, column)); err != nil ||
					got != want {
					t.Errorf("n=%d: %v is read as %v (error %v)", n, want, got, err)
				}
			}
		}
	}
}

// For a text that is not a square of the board, the error describes the valid squares.
func TestParseInvalidSquare(t *testing.T) {
	for _, c := range []struct {
		n    int
		text string
	}{
		{8, ""}, {8, "8,0"}, {8, "0,8"}, {8, "-1,0"}, {8, "0,-1"}, {8, "+1,0"},
		{8, "1"}, {8, "1,"}, {8, ",1"}, {8, "1,2,3"}, {8, "1 2"}, {8, "1, 2"},
		{8, "a1"}, {8, "0,0\n"}, {8, "٣,٣"},
		{8, "99999999999999999999,0"}, {8, "0,99999999999999999999"},
	} {
		s, err := queens.ParseSquare(c.n, c.text)
		if err == nil || s != (queens.Square{}) {
			t.Errorf("n=%d: %q is read as %v", c.n, c.text, s)
			continue
		}
		range0 := fmt.Sprintf("from 0 to %d", c.n-1)
		if !strings.Contains(err.Error(), range0) {
			t.Errorf("n=%d: %q: %v", c.n, c.text, err)
		}
	}
}

// Two queens attack each other if and only if one of them, placed beforehand, forbids the square of
// the other.
func TestAttacks(t *testing.T) {
	const n = 9
	for i := range n * n {
		s := queens.Square{Row: i / n, Column: i % n}
		b := queens.FullBoard(n)
		b.Preplace(s.Row, s.Column)
		for j := range n * n {
			other := queens.Square{Row: j / n, Column: j % n}
			if allowed := b.Allow[other.Row]>>other.Column&1 == 1; s != other &&
				s.Attacks(other) == allowed {
				t.Errorf("%v attacks %v: %v", s, other, s.Attacks(other))
			}
		}
	}
}

// A mirrored square is as far from the right edge as the original square is from the left edge.
func TestMirrored(t *testing.T) {
	s := queens.Square{Row: 2, Column: 1}
	if got := s.Mirrored(8); got != (queens.Square{Row: 2, Column: 6}) || got.Mirrored(8) != s {
		t.Errorf("%v mirrored is %v", s, got)
	}
}

// The error names queens that can't be placed together.
func TestValidatePlaced(t *testing.T) {
	at := func(n int, squares ...queens.Square) error { return queens.ValidatePlaced(n, squares) }
	square := func(row, column int) queens.Square { return queens.Square{Row: row, Column: column} }
	checkAll(t, []validity{
		{"none", at(8), ""},
		{"one", at(8, queens.Square{Row: 7, Column: 7}), ""},
		{"a solution", at(4, square(2, 0), square(0, 1), square(3, 2), square(1, 3)), ""},
		{"below the board", at(8, queens.Square{Row: 8}), "8,0 is not on a board of side 8"},
		{"beside the board", at(8, queens.Square{Column: 8}), "0,8 is not on a board of side 8"},
		{"above the board", at(8, queens.Square{Row: -1}), "-1,0 is not"},
		{"left of the board", at(8, queens.Square{Column: -1}), "0,-1 is not"},
		{"twice", at(8, square(1, 2), square(4, 3), square(1, 2)), "1,2 is given twice"},
		{"a row", at(8, square(1, 2), square(1, 7)), "1,2 and 1,7 attack"},
		{"a column", at(8, square(1, 2), square(7, 2)), "1,2 and 7,2 attack"},
		{"a diagonal", at(30, square(9, 2), square(1, 10)), "9,2 and 1,10 attack"},
		{"the other diagonal", at(8, square(0, 0), square(4, 1), square(6, 6)), "0,0 and 6,6 attack"},
	})
}

// Squares are sorted by row, and within a row by column.
func TestSortSquares(t *testing.T) {
	var want []queens.Square
	for i := range 25 {
		want = append(want, queens.Square{Row: i / 5, Column: i % 5})
	}
	got := slices.Clone(want)
	rand.New(rand.NewPCG(1, 0)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	queens.SortSquares(got)
	if !slices.Equal(got, want) {
		t.Errorf("sorted: %v", got)
	}
}

// A square is encoded as [row,column], and nothing else is decoded.
func TestSquareJSON(t *testing.T) {
	s := queens.Square{Row: 12, Column: 3}
	kept, err := json.Marshal(s)
	if string(kept) != "[12,3]" || err != nil {
		t.Errorf("kept as %s (error %v)", kept, err)
	}
	var read queens.Square
	if err := json.Unmarshal(kept, &read); err != nil || read != s {
		t.Errorf("read as %v (error %v)", read, err)
	}
	for _, wrong := range []string{`[]`, `[1]`, `[1,2,3]`, `["1","2"]`, `{"row":1,"column":2}`, `"a1"`,
		`[1.5,2]`} {
		if err := json.Unmarshal([]byte(wrong), new(queens.Square)); err == nil {
			t.Errorf("%s is read as a square", wrong)
		}
	}
}

// A manifest stores placed queens in a field after the symmetry, and omits it if there are none
// (see TestManifestIsPinned).
func TestPlacedManifest(t *testing.T) {
	placed := strings.Replace(sampleManifest, `"mirror"`, `"none","placed":[[0,2],[3,1]]`, 1)
	var m queens.Manifest
	if err := json.Unmarshal([]byte(placed), &m); err != nil {
		t.Fatal(err)
	}
	want := []queens.Square{{Row: 0, Column: 2}, {Row: 3, Column: 1}}
	if kept, err := json.Marshal(m); !slices.Equal(m.Placed, want) || string(kept) != placed ||
		err != nil {
		t.Errorf("read with queens on %v, and kept as %s (error %v)", m.Placed, kept, err)
	}
	with := func(symmetry, squares string) error {
		text := strings.Replace(sampleManifest, `"mirror"`, `"`+symmetry+`","placed":`+squares, 1)
		return json.Unmarshal([]byte(text), new(queens.Manifest))
	}
	checkAll(t, []validity{
		{"no queen", with("mirror", `[]`), ""},
		{"null", with("none", `[[0,2],null]`), "not 0 numbers"},
		{"one", with("none", `[[3,3]]`), ""},
		{"of a symmetry", with("mirror", `[[0,2]]`), "symmetry"},
		{"of all", with("full", `[[0,2]]`), "symmetry"},
		{"of another side", with("none", `[[0,4]]`), "not on a board of side 4"},
		{"negative", with("none", `[[-1,2]]`), "not on a board of side 4"},
		{"twice", with("none", `[[0,2],[0,2]]`), "twice"},
		{"that attack each other", with("none", `[[0,2],[2,0]]`), "attack"},
		{"not sorted", with("none", `[[3,1],[0,2]]`), "sorted"},
		{"of three numbers", with("none", `[[3,1,0]]`), "not 3 numbers"},
		{"by name", with("none", `["a1"]`), "string"},
	})
}

// Any parsed square is on the board. Parsing its String gives the same square.
func FuzzParseSquare(f *testing.F) {
	f.Add(8, "0,3")
	f.Add(27, "26,26")
	f.Fuzz(func(t *testing.T, n int, text string) {
		n = 1 + int(uint(n)%queens.MaxN)
		s, err := queens.ParseSquare(n, text)
		if err != nil {
			return
		}
		if err := queens.ValidatePlaced(n, []queens.Square{s}); err != nil {
			t.Fatal(err)
		}
		if again, err := queens.ParseSquare(n, s.String()); err != nil || again != s {
			t.Errorf("n=%d: %q is %v, which is read as %v (error %v)", n, text, s, again, err)
		}
	})
}

// ParsePlaced parses squares in any order and with any spacing, and validates them together.
func TestParsePlaced(t *testing.T) {
	squares, err := queens.ParsePlaced(8, "5,7  0,3", " 3,2 ")
	if want := []queens.Square{{Row: 0, Column: 3}, {Row: 3, Column: 2}, {Row: 5, Column: 7}}; err !=
		nil || !slices.Equal(squares, want) {
		t.Errorf("squares %v, error %v; want %v", squares, err, want)
	}
	for _, wrong := range []string{"8,0", "0,3 0,3", "0,0 1,1"} {
		if squares, err := queens.ParsePlaced(8, wrong); err == nil {
			t.Errorf("%q is read as %v", wrong, squares)
		}
	}
}
