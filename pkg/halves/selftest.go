package halves

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"nqueens/pkg/queens"
)

// SelfTestN is the side of the largest board whose total [SelfTest] compares with the published one.
const SelfTestN = 10

// selfTestLarge is the side of the board of which SelfTest counts some row sets by two kernels.
const selfTestLarge = 18

// SelfTest counts with kernel k. It compares the totals of small boards with the published ones, and
// every function of the kernel with plain Go. It takes milliseconds. Workers and coordinators call it
// before they count a run, because their machine or build may be broken although the test suite
// passed. The error for a wrong count names the kernel, what it counted, and both numbers. The only
// other error is context.Cause(ctx).
func SelfTest(ctx context.Context, k Kernel) error {
	wrong := func(what string, got, want uint64) error {
		if got == want {
			return nil
		}
		return fmt.Errorf("kernel %s of halves counts %d for %s, right is %d: this machine or this "+
			"build is broken, choose another kernel or machine", k.Name, got, what, want)
	}
	for used := 1; used <= chunks; used++ {
		stream, tables := randomTables(used)
		for length := range stream {
			t := tally{ones: [laneWords]uint64{1}} // a function adds to the tally
			k.counts[used-1](stream[:length], tables, &t)
			want := 1 + countPlain(stream[:length], tables, used)
			what := fmt.Sprintf("%d masks and %d tables", length, used)
			if err := wrong(what, t.sum(), want); err != nil {
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
func countOnce(ctx context.Context, n int, k Kernel, first, sets uint64) (uint64, error) {
	c, err := NewCounter(Config{N: n, Kernel: k, Memory: LeastMemory(n)})
	if err != nil {
		return 0, err
	}
	return c.Count(ctx, first, sets, new(atomic.Uint64))
}

// randomTables returns random masks, and tables of which some rows are empty and some full.
func randomTables(used int) (stream []uint64, t *tables) {
	rng := rand.New(rand.NewPCG(uint64(used), 0))
	t = new(tables)
	for i := range used {
		for x := range t[i] {
			for word := range t[i][x] {
				t[i][x][word] = ^(rng.Uint64() & rng.Uint64() & rng.Uint64()) // bits that survive many tables
			}
		}
		t[i][0], t[i][1] = [laneWords]uint64{}, [laneWords]uint64{}
		for word := range laneWords {
			t[i][1][word] = ^uint64(0)
		}
	}
	const masks = 40
	for i := range masks {
		x := rng.Uint64()
		if i%8 == 0 {
			x = 0x8102040810204081 & (1<<(chunk*used) - 1) // full rows
		}
		stream = append(stream, x)
	}
	return stream, t
}
