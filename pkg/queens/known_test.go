package queens_test

import (
	"math"
	"math/big"
	"testing"

	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
)

// published are the totals for n = 1, 2, … from The On-Line Encyclopedia of Integer Sequences,
// https://oeis.org/A000170.
var published = []string{
	"1", "0", "0", "2", "10", "4", "40", "92", "352", "724", "2680", "14200", "73712", "365596",
	"2279184", "14772512", "95815104", "666090624", "4968057848", "39029188884", "314666222712",
	"2691008701644", "24233937684440", "227514171973736", "2207893435808352", "22317699616364044",
	"234907967154122528",
}

// The known totals are exactly the published ones.
func TestKnownTotal(t *testing.T) {
	for i, want := range published {
		n := i + 1
		if got, ok := queens.KnownTotal(n); !ok || got.String() != want {
			t.Errorf("KnownTotal(%d) = %v, %v, want %s", n, got, ok, want)
		}
	}
	for _, n := range []int{-1, 0, len(published) + 1, queens.MaxN, queens.MaxN + 1, math.MaxInt} {
		if got, ok := queens.KnownTotal(n); ok || got != nil {
			t.Errorf("KnownTotal(%d) = %v, %v, want none", n, got, ok)
		}
	}
}

// A plain search finds the known totals of small boards.
func TestKnownTotalAgreesWithTheOracle(t *testing.T) {
	for n := 1; n <= 9; n++ {
		got, _ := queens.KnownTotal(n)
		if want := oracle.Count(n, oracle.Everywhere, nil); got.Uint64() != want {
			t.Errorf("KnownTotal(%d) = %v, the oracle counts %d", n, got, want)
		}
	}
}

// KnownTotal returns a copy: modifying it does not affect later calls.
func TestKnownTotalIsACopy(t *testing.T) {
	first, _ := queens.KnownTotal(8)
	first.Add(first, big.NewInt(1))
	if again, _ := queens.KnownTotal(8); again.String() != "92" {
		t.Errorf("KnownTotal(8) = %v after another one was changed, want 92", again)
	}
}
