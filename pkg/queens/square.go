package queens

import (
	"cmp"
	"fmt"

	"slices"
	"strconv"
	"strings"
)

// Square is a square of the board. Rows and columns are numbered from 0, from the top left.
type Square struct{ Row, Column int }

// ParseSquare parses a square of a board of side n: row and column, such as 0,3.
func ParseSquare(n int, text string) (Square, error) {
	rowText, columnText, _ := strings.Cut(text, ",")
	row, rowErr := strconv.ParseUint(rowText, 10, 8)
	column, columnErr := strconv.ParseUint(columnText, 10, 8)
	s := Square{int(row), int(column)}
	if cmp.Or(rowErr, columnErr) != nil || !s.onBoard(n) {
		return Square{}, fmt.Errorf("%.80q is not a square of a board of side %d: "+
			"it must be row,column, each from 0 to %d, counted from the top left", text, n, n-1)
	}
	return s, nil
}

// onBoard reports whether the square is on a board of side n.
func (s Square) onBoard(n int) bool {
	return s.Row >= 0 && s.Row < n && s.Column >= 0 && s.Column < n
}

// String returns row and column, such as 0,3.
func (s Square) String() string { return fmt.Sprintf("%d,%d", s.Row, s.Column) }

// Attacks reports whether queens on two different squares attack each other.
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

// ValidatePlaced returns an error unless queens can be placed beforehand on all these squares of a
// board of side n. The error names an invalid square, or two squares whose queens attack each
// other.
func ValidatePlaced(n int, placed []Square) error {
	for i, s := range placed {
		if !s.onBoard(n) {
			return fmt.Errorf("square %v is not on a board of side %d", s, n)
		}
		for _, other := range placed[:i] {
			switch {
			case other == s:
				return fmt.Errorf("square %v is given twice", s)
			case other.Attacks(s):
				return fmt.Errorf("the queens on %v and %v attack each other", other, s)
			}
		}
	}
	return nil
}

// ParsePlaced parses squares of a board of side n as [ParseSquare] does. A text may have several
// squares, separated by spaces. ParsePlaced returns them sorted. The error comes from ParseSquare
// or [ValidatePlaced].
func ParsePlaced(n int, texts ...string) ([]Square, error) {
	var squares []Square
	for _, word := range strings.Fields(strings.Join(texts, " ")) {
		s, err := ParseSquare(n, word)
		if err != nil {
			return nil, err
		}
		squares = append(squares, s)
	}
	if err := ValidatePlaced(n, squares); err != nil {
		return nil, err
	}
	SortSquares(squares)
	return squares, nil
}
