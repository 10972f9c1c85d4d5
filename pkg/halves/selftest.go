package halves

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// SelfTestN is the side of the largest board whose total [SelfTest] compares with the published
// one.
const SelfTestN = 10

// selfTestLarge is the side of the board of which SelfTest counts some row sets by two kernels.
const selfTestLarge = 18

// SelfTest counts with kernel k. It compares the totals of small boards with the published ones,
// and every function of the kernel with plain Go. It takes milliseconds. Workers and coordinators
// call it before they count a run, because their machine or build may be broken although the test
// suite passed. The error for a wrong count names the kernel, what it counted, and both numbers.
// The only other error is context.Cause(ctx).
func SelfTest(ctx context.Context, k Kernel) error {
	wrong := func(what string, got, want uint64) error {
		if got == want {
			return nil
		}
		return fmt.Errorf("kernel %s of halves counts %d for %s, right is %d: this machine or this "+
			"build is broken, choose another kernel or machine", k.Name, got, what, want)
	}
	for used := 1; used <= chunks; used++ {
		rng := rand.New(rand.NewPCG(uint64(used), 0))
		b := k.newBin()
		inBin := sparseMasks(rng, 64*b.words(), used, 3)
		check := func(what string, stream, once, twice []uint64) error {
			b.count(stream)
			what = fmt.Sprintf("%s of %d tables and %d and %d masks", what, used, len(once), len(twice))
			return wrong(what, b.take(), compatible(stream, once)+2*compatible(stream, twice))
		}
		once, twice := inBin[:64], inBin[64:]
		b.load(once, twice, used)
		for bit := 0; bit < chunk*used; bit += chunk {
			for value := range uint64(1 << chunk) {
				what := fmt.Sprintf("row %d of table %d", value, bit/chunk)
				if err := check(what, []uint64{value << bit}, once, twice); err != nil {
					return err
				}
			}
		}
		stream := sparseMasks(rng, selfTestStream, used, 2)
		for length := range selfTestStream {
			once, twice := inBin[64:][3*length:], inBin[:64][length:]
			b.load(once, twice, used)
			what := fmt.Sprintf("a stream of %d", length)
			if err := check(what, stream[:length], once, twice); err != nil {
				return err
			}
		}
	}
	for n := 1; n <= SelfTestN; n++ {
		got, err := countOnce(ctx, n, k, 0, Sets(n))
		if err != nil {
			return err
		}
		known, _ := queens.KnownTotal(n)
		if err := wrong(fmt.Sprintf("n = %d", n), got, known.Uint64()); err != nil {
			return err
		}
	}
	for number := range uint64(4) {
		got, err := countOnce(ctx, selfTestLarge, k, number, 1)
		if err != nil {
			return err
		}
		want, err := countOnce(ctx, selfTestLarge, generic, number, 1)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("row set %d of n = %d", number, selfTestLarge)
		if err := wrong(what, got, want); err != nil {
			return err
		}
	}
	return nil
}

// countOnce counts row sets with a new counter.
func countOnce(ctx context.Context, n int, k Kernel, first, sets uint64) (sum uint64, err error) {
	c, err := NewCounter(Config{N: n, Kernel: k, Memory: LeastMemory(n, 0)})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return c.Count(ctx, first, sets, new(atomic.Uint64))
}

// selfTestStream is the greatest length of a stream.
const selfTestStream = 40

// sparseMasks returns random masks for the given number of tables. Each bit is 1 with a probability
// of 2^-rarity.
func sparseMasks(rng *rand.Rand, number, used, rarity int) []uint64 {
	masks := make([]uint64, number)
	for i := range masks {
		masks[i] = 1<<(chunk*used) - 1
		for range rarity {
			masks[i] &= rng.Uint64()
		}
	}
	return masks
}

// compatible returns the number of pairs of a mask of a and a mask of b that have no bit in common.
func compatible(a, b []uint64) (pairs uint64) {
	for _, x := range a {
		for _, y := range b {
			if x&y == 0 {
				pairs++
			}
		}
	}
	return pairs
}
