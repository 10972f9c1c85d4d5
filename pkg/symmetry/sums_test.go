package symmetry_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"nqueens/pkg/run"
	"nqueens/pkg/symmetry"
)

// ks are the possible values of k.
var ks = []int{1, 2, 3, 4, 8}

// Total weighs the sum of each k with 8/k and must leave no remainder; Partial drops it.
func TestSums(t *testing.T) {
	type found struct {
		k     int
		count uint64
	}
	const most = math.MaxUint64
	for _, c := range []struct {
		name  string
		found []found
		total string // "" for a remainder
		floor string
	}{
		{"nothing", nil, "0", "0"},
		{"nothing of some class", []found{{4, 0}, {3, 0}}, "0", "0"},
		{"one of k = 1", []found{{1, 1}}, "8", "8"},
		{"one of k = 2", []found{{2, 1}}, "4", "4"},
		{"one of k = 3", []found{{3, 1}}, "", "2"},
		{"two of k = 3", []found{{3, 2}}, "", "5"},
		{"three of k = 3", []found{{3, 3}}, "8", "8"},
		{"three of k = 3, one by one", []found{{3, 1}, {3, 1}, {3, 1}}, "8", "8"},
		{"one of k = 4", []found{{4, 1}}, "2", "2"},
		{"one of k = 8", []found{{8, 1}}, "1", "1"},
		{"one of each k", []found{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {8, 1}}, "", "17"},
		{"three of each k", []found{{1, 3}, {2, 3}, {3, 3}, {4, 3}, {8, 3}}, "53", "53"},
		{"n=8 by mirror", []found{{4, 46}}, "92", "92"},
		{"a remainder hidden by size", []found{{1, most}, {3, most - 1}}, "", "196765270119568550557"},
		{"beyond 64 bits by weight", []found{{1, most}}, "147573952589676412920", "147573952589676412920"},
		{"beyond 64 bits by sum", []found{{8, most}, {8, most}}, "36893488147419103230", "36893488147419103230"},
		{"beyond 64 bits both ways", []found{{1, most}, {1, most}}, "295147905179352825840", "295147905179352825840"},
	} {
		var sums symmetry.Sums
		for _, f := range c.found {
			sums.Add(f.k, f.count)
		}
		for range 2 { // To ask changes nothing.
			total, err := sums.Total()
			switch {
			case c.total == "" && (!errors.Is(err, run.ErrContradiction) || total != nil):
				t.Errorf("%s: total %v (error %v), want none for its remainder", c.name, total, err)
			case c.total != "" && (err != nil || total.String() != c.total):
				t.Errorf("%s: total %v (error %v), want %s", c.name, total, err, c.total)
			}
			if got := sums.Partial(); got.String() != c.floor {
				t.Errorf("%s: found so far %v, want %s", c.name, got, c.floor)
			}
		}
	}
}

// Sums agree with rational arithmetic, for any input in any order.
func TestSumsAreExact(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var sums symmetry.Sums
		var others symmetry.Sums // of some
		want := new(big.Rat)
		for range rng.IntN(20) {
			k, count := ks[rng.IntN(len(ks))], rng.Uint64()>>rng.IntN(64)
			if rng.IntN(2) == 0 {
				others.Add(k, count)
			} else {
				sums.Add(k, count)
			}
			exact := new(big.Rat).SetFrac(new(big.Int).SetUint64(count), big.NewInt(int64(k)))
			want.Add(want, exact.Mul(exact, big.NewRat(8, 1)))
		}
		sums.AddAll(&others)
		total, err := sums.Total()
		if want.IsInt() && (err != nil || total.Cmp(want.Num()) != 0) {
			t.Errorf("seed %d: total %v (error %v), want %s", seed, total, err, want.RatString())
		}
		if !want.IsInt() && !errors.Is(err, run.ErrContradiction) {
			t.Errorf("seed %d: total %v (error %v), want an error for the remainder of %s", seed, total, err, want)
		}
		floor := new(big.Int).Div(want.Num(), want.Denom())
		if got := sums.Partial(); got.Cmp(floor) != 0 {
			t.Errorf("seed %d: found so far %v, want %v", seed, got, floor)
		}
	}
}

// The caller owns the results of Total and Partial.
func TestSumsKeepTheirOwn(t *testing.T) {
	var sums symmetry.Sums
	sums.Add(8, 5)
	total, _ := sums.Total()
	for _, got := range []*big.Int{total, sums.Partial()} {
		got.SetInt64(1 << 40)
	}
	if total, err := sums.Total(); err != nil || total.Int64() != 5 {
		t.Errorf("total %v (error %v) after earlier answers were changed, want 5", total, err)
	}
}
