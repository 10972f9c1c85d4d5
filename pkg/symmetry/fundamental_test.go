package symmetry_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
)

// These numbers are published in The On-Line Encyclopedia of Integer Sequences, for n from 1.
var (
	halfTurns = []uint64{ // https://oeis.org/A032522
		1, 0, 0, 2, 2, 4, 8, 4, 16, 12, 48, 80, 136, 420, 1240, 3000, 8152, 18104, 44184, 144620, 375664,
		1250692, 3581240,
	}
	quarterTurns = []uint64{ // https://oeis.org/A033148
		1, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 8, 8, 0, 0, 64, 128, 0, 0, 480, 704, 0, 0, 3328, 3264, 0, 0,
		32896, 43776, 0, 0, 406784,
	}
	fundamental = []int64{ // https://oeis.org/A002562
		1, 0, 0, 1, 2, 1, 6, 12, 46, 92, 341, 1787, 9233, 45752, 285053, 1846955, 11977939, 83263591,
		621012754, 4878666808,
		39333324973, 336376244042, 3029242658210,
	}
)

// HalfTurn and QuarterTurn count as many symmetric solutions as brute force.
func TestTurnsByBruteForce(t *testing.T) {
	for n := 1; n <= 10; n++ {
		var half, quarter uint64
		for solution := range oracle.Boards(n) {
			// Images 0, 2, 4 and 6 are turned by one, two, three and no quarters.
			turned := images(solution)
			if slices.Equal(turned[2], solution) {
				half++
			}
			if slices.Equal(turned[0], solution) {
				quarter++
			}
		}
		expectTurns(t, n, 2, half, quarter)
	}
}

// HalfTurn and QuarterTurn return the published numbers, on any number of threads.
func TestTurnsArePublished(t *testing.T) {
	for n := 1; n <= len(halfTurns); n++ {
		expectTurns(t, n, 1+n%5, halfTurns[n-1], quarterTurns[n-1])
	}
	for n := len(halfTurns) + 1; n <= len(quarterTurns); n++ {
		if got, err := symmetry.QuarterTurn(t.Context(), n); err != nil || got != quarterTurns[n-1] {
			t.Errorf("n=%d: %d fixed by a quarter turn (error %v), want %d", n, got, err, quarterTurns[n-1])
		}
	}
}

func expectTurns(t *testing.T, n, threads int, half, quarter uint64) {
	t.Helper()
	if got, err := symmetry.HalfTurn(t.Context(), n, threads); err != nil || got != half {
		t.Errorf("n=%d: %d fixed by a half turn (error %v), want %d", n, got, err, half)
	}
	if got, err := symmetry.QuarterTurn(t.Context(), n); err != nil || got != quarter {
		t.Errorf("n=%d: %d fixed by a quarter turn (error %v), want %d", n, got, err, quarter)
	}
}

// The published totals give the published numbers of fundamental solutions.
func TestFundamental(t *testing.T) {
	for i, want := range fundamental {
		n := i + 1
		total, _ := queens.KnownTotal(n)
		got, err := symmetry.Fundamental(t.Context(), n, total, 2)
		if err != nil || got.Int64() != want {
			t.Errorf("n=%d: %v fundamental solutions (error %v), want %d", n, got, err, want)
		}
	}
}

// No reflection maps a solution to itself. Unique relies on this.
func TestNoMirrorKeepsASolution(t *testing.T) {
	for n := 2; n <= 9; n++ {
		for solution := range oracle.Boards(n) {
			for i, image := range images(solution) {
				if mirror := i%2 == 1; mirror && slices.Equal(image, solution) {
					t.Errorf("n=%d: %v is its own mirror image", n, solution)
				}
			}
		}
	}
}

// A total that does not give a whole number of fundamental solutions is a contradiction.
func TestUniqueOfAWrongTotal(t *testing.T) {
	for off := int64(-9); off <= 9; off++ {
		got, err := symmetry.Unique(big.NewInt(14200+off), 80, 8)
		switch {
		case off%8 == 0:
			if err != nil || got.Int64() != 1787+off/8 {
				t.Errorf("off by %d: %v (error %v)", off, got, err)
			}
		case got != nil || !errors.Is(err, queens.ErrContradiction):
			t.Errorf("off by %d: %v (error %v), want %v", off, got, err, queens.ErrContradiction)
		}
	}
}

// Fundamental returns a new number and does not change its argument.
func TestFundamentalLeavesTheTotal(t *testing.T) {
	for _, n := range []int{1, 8} {
		total, _ := queens.KnownTotal(n)
		got, err := symmetry.Fundamental(t.Context(), n, total, 1)
		if err != nil {
			t.Fatal(err)
		}
		got.SetInt64(-1)
		if known, _ := queens.KnownTotal(n); total.Cmp(known) != 0 {
			t.Errorf("n=%d: the total is %v now", n, total)
		}
	}
}

// When their context ends, the searches return its cause and leave no goroutine. HalfTurn with n =
// 32 would take hours.
func TestFundamentalEnds(t *testing.T) {
	before := runtime.NumGoroutine()
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { stop(stopped) })
	if got, err := symmetry.Fundamental(ctx, 32, big.NewInt(8), 3); !errors.Is(err, stopped) ||
		got != nil {
		t.Errorf("%v (error %v), want the cause of ctx", got, err)
	}
	if got, err := symmetry.QuarterTurn(ctx, 32); !errors.Is(err, stopped) || got != 0 {
		t.Errorf("%d (error %v), want the cause of ctx", got, err)
	}
	// the goroutine of the timer may not have ended yet
	if after := runtime.NumGoroutine(); after > before+1 {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}

// Sides and numbers of threads out of range are errors.
func TestTurnsOfNothing(t *testing.T) {
	for _, n := range []int{-1, 0, 33} {
		if _, err := symmetry.HalfTurn(t.Context(), n, 1); err == nil {
			t.Errorf("half turns of n=%d are counted", n)
		}
		if _, err := symmetry.QuarterTurn(t.Context(), n); err == nil {
			t.Errorf("quarter turns of n=%d are counted", n)
		}
		if _, err := symmetry.Fundamental(t.Context(), n, new(big.Int), 1); err == nil {
			t.Errorf("fundamental solutions of n=%d are counted", n)
		}
	}
	if _, err := symmetry.HalfTurn(t.Context(), 8, 0); err == nil {
		t.Error("no thread counts")
	}
}

func BenchmarkHalfTurn(b *testing.B) {
	for _, n := range []int{20, 24, 27} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := symmetry.HalfTurn(b.Context(), n, runtime.GOMAXPROCS(0)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func ExampleFundamental() {
	total, _ := queens.KnownTotal(8)
	unique, _ := symmetry.Fundamental(context.Background(), 8, total, 1)
	fmt.Println(unique)
	// Output: 12
}
