package enumerate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/enumerate"
	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
)

// fundamental[n-1] is the published number of fundamental solutions of side n:
// https://oeis.org/A002562.
var fundamental = []int{1, 0, 0, 1, 2, 1, 6, 12, 46, 92, 341, 1787, 9233}

// Unique yields the published number of solutions. The numbers of their images add up to the
// published total.
func TestUniqueIsPublished(t *testing.T) {
	for i, want := range fundamental {
		n, families, images := i+1, 0, int64(0)
		for _, k := range enumerate.Unique(t.Context(), n) {
			families++
			images += int64(k)
		}
		if known, _ := queens.KnownTotal(n); families != want || images != known.Int64() {
			t.Errorf("n=%d: %d families of %d boards, want %d of %v", n, families, images, want, known)
		}
	}
}

// The test makes the equivalence classes of all solutions. Unique yields the first solution of each
// class, in order, and the number of its images.
func TestUniqueByBruteForce(t *testing.T) {
	for n := 1; n <= 9; n++ {
		var want, got []string
		for board := range oracle.Boards(n) {
			if family := images(board); slices.Compare(family[0], board) == 0 {
				want = append(want, fmt.Sprint(board, len(family)))
			}
		}
		for columns, k := range enumerate.Unique(t.Context(), n) {
			got = append(got, fmt.Sprint(columns, k))
		}
		if !slices.Equal(got, want) {
			t.Errorf("n=%d: families %v, want %v", n, got, want)
		}
	}
}

// images returns the different images of a board, sorted.
func images(columns []int) [][]int {
	var all [][]int
	for range 4 {
		quarter, mirror := make([]int, len(columns)), make([]int, len(columns))
		for row, column := range columns {
			quarter[column], mirror[row] = len(columns)-1-row, len(columns)-1-column
		}
		all, columns = append(all, columns, mirror), quarter
	}
	slices.SortFunc(all, slices.Compare)
	return slices.CompactFunc(all, slices.Equal)
}

// The search ends when its consumer stops, and when its context ends.
func TestUniqueStops(t *testing.T) {
	for range enumerate.Unique(t.Context(), 27) {
		break
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for range enumerate.Unique(ctx, 27) {
	}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("the search ended, but the context says %v", ctx.Err())
	}
}
