package queens

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Square is a place on the board. Rows and columns count from 0 at the top left.
type Square struct{ Row, Column int }

// maxLettered is the largest side whose files have letters.
const maxLettered = 26

var (
	byNumbers = regexp.MustCompile(`^([0-9]+),([0-9]+)$`)
	byLetter  = regexp.MustCompile(`^([a-zA-Z])([0-9]+)$`)
)

// ParseSquare reads a square of a board of side n: row and column, such as 0,3, or up
// to side 26 in the notation of chess, such as d8 or D8, where file a is column 0 and
// rank 1 the bottom row.
func ParseSquare(n int, text string) (Square, error) {
	s, ok := parseSquare(n, text)
	if !ok {
		chess := ""
		if n <= maxLettered {
			chess = fmt.Sprintf(", or file and rank, a1 to %c%d", 'a'+n-1, n)
		}
		return Square{}, fmt.Errorf("%.80q is no square of a board of side %d: it must be row,column, each from 0 to %d, counted from the top left%s", text, n, n-1, chess)
	}
	return s, nil
}

func parseSquare(n int, text string) (s Square, ok bool) {
	if m := byNumbers.FindStringSubmatch(text); m != nil {
		s.Row, ok = below(n, m[1])
		column, within := below(n, m[2])
		s.Column = column
		return s, ok && within
	}
	if m := byLetter.FindStringSubmatch(text); m != nil && n <= maxLettered {
		s.Column = int(strings.ToLower(m[1])[0] - 'a')
		rank, err := strconv.Atoi(m[2])
		s.Row = n - rank
		return s, err == nil && s.within(n)
	}
	return Square{}, false
}

// below reads a number from 0 to n-1.
func below(n int, digits string) (int, bool) {
	number, err := strconv.Atoi(digits)
	return number, err == nil && number < n
}

// within reports whether the square is on a board of side n.
func (s Square) within(n int) bool {
	return s.Row >= 0 && s.Row < n && s.Column >= 0 && s.Column < n
}

// String returns row and column, such as 0,3.
func (s Square) String() string { return fmt.Sprintf("%d,%d", s.Row, s.Column) }

// Chess returns the name of the square in the notation of chess on a board of side n,
// such as d8, or an empty string where the board is too large for that.
func (s Square) Chess(n int) string {
	if n > maxLettered {
		return ""
	}
	return fmt.Sprintf("%c%d", 'a'+s.Column, n-s.Row)
}

// named returns the square's name for a person: 0,3 (d8).
func (s Square) named(n int) string {
	if chess := s.Chess(n); chess != "" {
		return fmt.Sprintf("%v (%s)", s, chess)
	}
	return s.String()
}

// Attacks reports whether queens on the two squares, which differ, attack each other.
func (s Square) Attacks(other Square) bool {
	rows, columns := s.Row-other.Row, s.Column-other.Column
	return rows == 0 || columns == 0 || rows == columns || rows == -columns
}

// Mirrored returns the square's left-right mirror image on a board of side n.
func (s Square) Mirrored(n int) Square { return Square{s.Row, n - 1 - s.Column} }

// SortSquares sorts squares by row, and by column within a row.
func SortSquares(squares []Square) {
	slices.SortFunc(squares, compareSquares)
}

func compareSquares(a, b Square) int {
	return cmp.Or(a.Row-b.Row, a.Column-b.Column)
}

// CheckPlaced returns nil when queens can be placed beforehand on all these squares of
// a board of side n, and an error that names a square, or the two that attack each
// other.
func CheckPlaced(n int, placed []Square) error {
	for i, s := range placed {
		if !s.within(n) {
			return fmt.Errorf("square %v is not on a board of side %d", s, n)
		}
		for _, other := range placed[:i] {
			switch {
			case other == s:
				return fmt.Errorf("square %s is given twice", s.named(n))
			case other.Attacks(s):
				return fmt.Errorf("the queens on %s and %s attack each other", other.named(n), s.named(n))
			}
		}
	}
	return nil
}

// ParsePlaced reads squares on a board of side n, each as [ParseSquare] does, separated by
// spaces within a text. It returns them sorted; the error is that of ParseSquare or
// [CheckPlaced].
func ParsePlaced(n int, texts ...string) ([]Square, error) {
	var squares []Square
	for _, word := range strings.Fields(strings.Join(texts, " ")) {
		s, err := ParseSquare(n, word)
		if err != nil {
			return nil, err
		}
		squares = append(squares, s)
	}
	if err := CheckPlaced(n, squares); err != nil {
		return nil, err
	}
	SortSquares(squares)
	return squares, nil
}

// MarshalJSON returns the square as [row,column].
func (s Square) MarshalJSON() ([]byte, error) { return json.Marshal([2]int{s.Row, s.Column}) }

// UnmarshalJSON reads a square that is written as [row,column].
func (s *Square) UnmarshalJSON(data []byte) error {
	var numbers []int
	if err := json.Unmarshal(data, &numbers); err != nil {
		return err
	}
	if len(numbers) != 2 {
		return fmt.Errorf("a square is [row,column], not %d numbers", len(numbers))
	}
	*s = Square{numbers[0], numbers[1]}
	return nil
}
