// Package testkit helps tests to wait, to sample cases, to find addresses, to run stories, and to
// compare texts with files. Only tests import it.
package testkit

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Stall is how long a test waits without any progress before it fails. It is long because machines
// are busy and the race detector is slow. A test that passes never waits this long.
const Stall = 3 * time.Minute

// Eventually polls a condition until it is true. If that takes longer than Stall, the test fails
// and names what it waited for. Use it only for conditions that send no event.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Stall); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", Stall, what)
		}
	}
}

// newRand returns a random number generator, and logs its seed. The environment variable SEED sets
// the seed.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text, set := os.LookupEnv("SEED"); set {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("SEED=%q: it must be a number from 0 to 2^64-1", text)
		}
	}
	t.Logf("SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Full reports whether the environment variable NQUEENS_TEST_FULL is 1. Then tests try all cases,
// not samples of them.
func Full() bool { return os.Getenv("NQUEENS_TEST_FULL") == "1" }

// Sample returns n of the cases, chosen at random, in their order. It returns all cases if there
// are at most n, or if Full returns true.
func Sample[T any](t testing.TB, n int, cases []T) []T {
	t.Helper()
	if Full() || n >= len(cases) {
		return cases
	}
	chosen := newRand(t).Perm(len(cases))[:n]
	slices.Sort(chosen)
	sample := make([]T, n)
	for i, index := range chosen {
		sample[i] = cases[index]
	}
	return sample
}
