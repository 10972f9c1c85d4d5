package enumerate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/enumerate"
	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
)

// Boards yields the solutions that the oracle lists, in the same order, and none for n = 2 and 3.
func TestBoardsOfFullBoards(t *testing.T) {
	for n := 1; n <= 9; n++ {
		got := collect(t, queens.FullBoard(n))
		want := slices.Collect(oracle.Boards(n))
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("n=%d: %d boards %v, want %d %v", n, len(got), got, len(want), want)
		}
	}
}

// Boards yields exactly the solutions of the full board whose queens stand on allowed squares, in
// the same order.
func TestBoardsUnderAllowMasks(t *testing.T) {
	var total int
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		b := queens.FullBoard(4 + rng.IntN(6))
		for row := range b.N {
			b.Allow[row] &= rng.Uint32() | rng.Uint32() | rng.Uint32()
		}
		var want [][]int
		for columns := range oracle.Boards(b.N) {
			if stands(&b, columns) {
				want = append(want, columns)
			}
		}
		if got := collect(t, b); !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("seed %d: board %#x has boards %v, want %v", seed, b.Allow[:b.N], got, want)
		}
		total += len(want)
	}
	if total < 100 {
		t.Errorf("the cases have %d boards in all: too few to tell", total)
	}
}

// Boards needs no more memory for all 365596 solutions of n = 14 than for the two of n = 4.
func TestBoardsTakeConstantMemory(t *testing.T) {
	walk := func(n int) (boards int64, allocs float64) {
		allocs = testing.AllocsPerRun(1, func() {
			boards = 0
			for range enumerate.Boards(t.Context(), queens.FullBoard(n)) {
				boards++
			}
		})
		return boards, allocs
	}
	_, few := walk(4)
	boards, many := walk(14)
	if known, _ := queens.KnownTotal(14); boards != known.Int64() {
		t.Errorf("n=14 has %d boards, want %v", boards, known)
	}
	// The runtime itself may allocate now and then.
	if many > few+10 {
		t.Errorf("n=14 takes %v allocations, n=4 takes %v", many, few)
	}
}

// The search ends at once when its consumer stops: a whole search of n = 27 would take years.
func TestBoardsStopWithTheConsumer(t *testing.T) {
	for _, limit := range []int{1, 2, 5} {
		got := 0
		for range enumerate.Boards(t.Context(), queens.FullBoard(27)) {
			got++
			if got == limit {
				break
			}
		}
		if got != limit {
			t.Errorf("%d boards are yielded, want %d", got, limit)
		}
	}
}

// The search ends with its context, whether it finds many solutions or none. Each of these searches
// would take years.
func TestBoardsStopWithTheContext(t *testing.T) {
	barren := queens.FullBoard(32)
	barren.Allow[31] = 0
	for name, b := range map[string]queens.Board{"boards": queens.FullBoard(27), "no boards": barren} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			for range enumerate.Boards(ctx, b) {
			}
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("the search ended, but the context says %v", ctx.Err())
			}
		})
	}
}

func BenchmarkBoards(b *testing.B) {
	for _, n := range []int{8, 10, 12} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				for range enumerate.Boards(b.Context(), queens.FullBoard(n)) {
				}
			}
		})
	}
}

func ExampleBoards() {
	for columns := range enumerate.Boards(context.Background(), queens.FullBoard(4)) {
		fmt.Println(columns)
	}
	// Output:
	// [1 3 0 2]
	// [2 0 3 1]
}

// collect returns copies of all solutions.
func collect(t *testing.T, b queens.Board) [][]int {
	var boards [][]int
	for columns := range enumerate.Boards(t.Context(), b) {
		boards = append(boards, slices.Clone(columns))
	}
	return boards
}

// stands reports whether every queen is on an allowed square.
func stands(b *queens.Board, columns []int) bool {
	for row, col := range columns {
		if b.Allow[row]>>col&1 == 0 {
			return false
		}
	}
	return true
}
