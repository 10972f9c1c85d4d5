package oracle_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"nqueens/pkg/oracle"
)

// The oracle counts the published number of solutions. It lists as many, each once, in
// lexicographic order.
func TestPublishedTotals(t *testing.T) {
	// The On-Line Encyclopedia of Integer Sequences, https://oeis.org/A000170.
	for i, want := range []uint64{1, 0, 0, 2, 10, 4, 40, 92, 352, 724} {
		n := i + 1
		if got := oracle.Count(n, oracle.Everywhere, nil); got != want {
			t.Errorf("Count(%d) = %d, want %d", n, got, want)
		}
		boards := slices.Collect(oracle.Boards(n))
		if uint64(len(boards)) != want {
			t.Errorf("Boards(%d) has %d boards, want %d", n, len(boards), want)
		}
		for i := 1; i < len(boards); i++ {
			if slices.Compare(boards[i-1], boards[i]) >= 0 {
				t.Errorf("Boards(%d): %v comes before %v", n, boards[i-1], boards[i])
			}
		}
	}
}

// The oracle lists exactly the permutations in which no two queens attack each other.
func TestBoardsAreThePermutationsWithoutAttack(t *testing.T) {
	for n := 1; n <= 7; n++ {
		var want [][]int
		for columns := range permutations(n) {
			if !anyAttack(columns, 0) {
				want = append(want, columns)
			}
		}
		if got := slices.Collect(oracle.Boards(n)); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("Boards(%d) = %v, want %v", n, got, want)
		}
	}
}

// The oracle counts the completions of any prefix, for any allowed squares, even if the prefix has
// empty rows or queens that attack each other.
func TestCountOfPrefixes(t *testing.T) {
	var total uint64
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		n := 1 + rng.IntN(7)
		prefix := rng.Perm(n)[:rng.IntN(n+1)]
		for row := range prefix {
			if rng.IntN(4) == 0 {
				prefix[row] = -1
			}
		}
		squares := make([]bool, n*n)
		for i := range squares {
			squares[i] = rng.IntN(5) > 0
		}
		allowed := func(row, col int) bool { return squares[row*n+col] }

		got, want := oracle.Count(n, allowed, prefix), countPermutations(n, allowed, prefix)
		if got != want {
			t.Fatalf("seed %d: Count(%d, …, %v) = %d, want %d", seed, n, prefix, got, want)
		}
		total += got
	}
	if total < 100 {
		t.Errorf("the cases have %d completions in all: too few to tell", total)
	}
}

// Boards ends when its consumer stops: a search to the end would take years.
func TestBoardsStops(t *testing.T) {
	for columns := range oracle.Boards(24) {
		if anyAttack(columns, 0) {
			t.Errorf("%v is no solution", columns)
		}
		break
	}
}

func ExampleCount() {
	corner := []int{0}
	fmt.Println(oracle.Count(8, oracle.Everywhere, nil), oracle.Count(8, oracle.Everywhere, corner))
	// Output: 92 4
}

// countPermutations counts like Count, but tries every permutation. It finds each placement once
// for each way to give columns to the prefix's empty rows, so it divides by the number of ways.
func countPermutations(n int, allowed func(row, col int) bool, prefix []int) uint64 {
	var found uint64
	for columns := range permutations(n) {
		fits := true
		for row, col := range columns {
			if row < len(prefix) {
				fits = fits && (prefix[row] < 0 || prefix[row] == col)
			} else {
				fits = fits && allowed(row, col)
			}
		}
		for row, col := range prefix {
			if col < 0 {
				columns[row] = col
			}
		}
		if fits && !anyAttack(columns, len(prefix)) {
			found++
		}
	}
	orders, empty := uint64(1), uint64(0)
	for _, col := range prefix {
		if col < 0 {
			empty++
			orders *= empty
		}
	}
	return found / orders
}

// anyAttack reports whether a queen of columns[first:] attacks a queen above it.
func anyAttack(columns []int, first int) bool {
	for row := first; row < len(columns); row++ {
		for above := range row {
			apart := columns[row] - columns[above]
			if columns[above] >= 0 && (apart == 0 || apart == row-above || apart == above-row) {
				return true
			}
		}
	}
	return false
}

// permutations returns all permutations of 0..n-1 in lexicographic order.
func permutations(n int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		var extend func(columns []int) bool
		extend = func(columns []int) bool {
			if len(columns) == n {
				return yield(slices.Clone(columns))
			}
			for col := range n {
				if !slices.Contains(columns, col) && !extend(append(columns, col)) {
					return false
				}
			}
			return true
		}
		extend(nil)
	}
}
