package kernel

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// newCounter returns a counter, and closes it when the test ends.
func newCounter(t testing.TB, k Kernel) Counter {
	t.Helper()
	c, err := k.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func count(t testing.TB, c Counter, b *queens.Board, ps []queens.Prefix) uint64 {
	t.Helper()
	got, err := c.Count(context.Background(), b, ps, new(atomic.Uint64))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// randomBoard returns a board of side n that does not allow random squares. A large board allows so
// few squares that its search is short.
func randomBoard(rng *rand.Rand, n int) queens.Board {
	b := queens.FullBoard(n)
	keep := min(1, 9/float64(n)) + 0.15*rng.Float64()
	if n <= 12 && rng.IntN(4) == 0 {
		keep = 1
	}
	for row := range n {
		for col := range n {
			if rng.Float64() > keep {
				b.Allow[row] &^= 1 << col
			}
		}
	}
	if rng.IntN(20) == 0 {
		b.Allow[rng.IntN(n)] = 0
	}
	return b
}

// wildPrefix returns a valid prefix of random masks. Perhaps no queens attack exactly these
// squares.
func wildPrefix(rng *rand.Rand, b *queens.Board, row int) queens.Prefix {
	p := queens.Prefix{Row: row}
	for _, c := range rng.Perm(b.N)[:row] {
		p.Cols |= 1 << c
	}
	p.Left = rng.Uint32() & rng.Uint32() & b.Columns()
	p.Right = rng.Uint32() & rng.Uint32() & b.Columns()
	return p
}

// Every vector kernel counts the same as the reference kernel on random boards, batch after batch
// with the same counter. Some prefixes have real queens, the others come from wildPrefix.
func TestKernelsAgreeWithGeneric(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for seconds")
	}
	kernels, reference := laneKernels(), newCounter(t, generic)
	var counters []Counter
	for _, k := range kernels {
		counters = append(counters, newCounter(t, k))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var solutions uint64
	for range 600 {
		b := randomBoard(rng, 1+rng.IntN(queens.MaxN))
		for _, size := range []int{0, 1, 2, 15, 16, 17, 63, 64, 65, 100 + rng.IntN(400)} {
			batch := randomBatch(rng, &b, size)
			want := count(t, reference, &b, batch)
			for i, k := range kernels {
				if got := count(t, counters[i], &b, batch); got != want {
					t.Fatalf("%s, board of side %d, %x, prefixes %x: %d, want %d", k.Name, b.N, b.Allow[:b.N],
						batch, got, want)
				}
			}
			solutions += want
		}
	}
	if solutions < 3e5 {
		t.Errorf("%d solutions in all: too few for a test", solutions)
	}
}

// randomBatch returns valid prefixes of mixed depths. On a large board they are so deep that the
// search is short.
func randomBatch(rng *rand.Rand, b *queens.Board, size int) []queens.Prefix {
	low := rng.IntN(b.N + 1)
	if b.N > 12 {
		low = max(low, b.N-9-rng.IntN(4))
	}
	batch := make([]queens.Prefix, size)
	for i := range batch {
		row := low + rng.IntN(b.N+1-low)
		if p := randomPrefix(rng, b, row); rng.IntN(2) == 0 && p.Row >= low {
			batch[i] = p
		} else {
			batch[i] = wildPrefix(rng, b, row)
		}
	}
	return batch
}

// Batches of about as many prefixes as a queue's buffers can hold, and larger ones, are counted
// right.
func TestBatchesLargerThanTheBuffers(t *testing.T) {
	for _, k := range laneKernels() {
		rng := rand.New(rand.NewPCG(3, 4))
		c, reference := newCounter(t, k), newCounter(t, generic)
		for _, n := range []int{10, 14, 20, 32} {
			b := queens.FullBoard(n)
			for _, size := range []int{3952, 3953, 4080, 8000, queens.MaxBatch} {
				batch := make([]queens.Prefix, size)
				for i := range batch {
					batch[i] = wildPrefix(rng, &b, n-3-rng.IntN(5))
				}
				if got, want := count(t, c, &b, batch), count(t, reference, &b, batch); got != want {
					t.Fatalf("%s, n=%d, %d prefixes: %d, want %d", k.Name, n, size, got, want)
				}
			}
		}
	}
}

// While kernels run on every core, the garbage collector can still run, and all searches end when
// their context ends.
func TestGarbageIsCollectedDuringSearches(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for seconds")
	}
	for _, k := range testkit.Sample(t, 2, Available()) {
		t.Run(k.Name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var searches sync.WaitGroup
			pulses := make([]atomic.Uint64, runtime.GOMAXPROCS(0))
			for i := range pulses {
				c := newCounter(t, k)
				searches.Go(func() {
					b := queens.FullBoard(22)
					_, _ = c.Count(ctx, &b, []queens.Prefix{{}}, &pulses[i]) // ends only with ctx
				})
			}
			for i := range pulses {
				for pulses[i].Load() == 0 {
					runtime.Gosched()
				}
			}
			for range 5 {
				runtime.GC()
			}
			cancel()
			searches.Wait()
		})
	}
}
