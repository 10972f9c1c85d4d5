package queens_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"nqueens/pkg/queens"
)

// Total multiplies the sum of each weight by the weight, also beyond 64 bits.
func TestSums(t *testing.T) {
	type found struct {
		weight int
		count  uint64
	}
	const most = math.MaxUint64
	for _, c := range []struct {
		name  string
		found []found
		total string
	}{
		{"nothing", nil, "0"},
		{"nothing of some class", []found{{4, 0}, {8, 0}}, "0"},
		{"one of each weight", []found{{1, 1}, {2, 1}, {4, 1}, {8, 1}}, "15"},
		{"one by one", []found{{4, 1}, {4, 1}, {4, 1}}, "12"},
		{"n=8 by mirror", []found{{2, 46}}, "92"},
		{"beyond 64 bits by weight", []found{{8, most}}, "147573952589676412920"},
		{"beyond 64 bits by sum", []found{{1, most}, {1, most}}, "36893488147419103230"},
		{"beyond 64 bits both ways", []found{{8, most}, {8, most}}, "295147905179352825840"},
	} {
		var sums queens.Sums
		for _, f := range c.found {
			sums.Add(f.weight, f.count)
		}
		if total := sums.Total(); total.String() != c.total {
			t.Errorf("%s: total %v, want %s", c.name, total, c.total)
		}
	}
}

// Sums agree with big integers, for any numbers in any order.
func TestSumsAreExact(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var sums queens.Sums
		want := new(big.Int)
		for range rng.IntN(20) {
			weight, count := 1<<rng.IntN(4), rng.Uint64()>>rng.IntN(64)
			sums.Add(weight, count)
			solutions := new(big.Int).SetUint64(count)
			want.Add(want, solutions.Mul(solutions, big.NewInt(int64(weight))))
		}
		if total := sums.Total(); total.Cmp(want) != 0 {
			t.Errorf("seed %d: total %v, want %v", seed, total, want)
		}
	}
}

// The caller owns the result of Total.
func TestSumsKeepTheirOwn(t *testing.T) {
	var sums queens.Sums
	sums.Add(1, 5)
	sums.Total().SetInt64(1 << 40)
	if total := sums.Total(); total.Int64() != 5 {
		t.Errorf("total %v after an earlier answer was changed, want 5", total)
	}
}
