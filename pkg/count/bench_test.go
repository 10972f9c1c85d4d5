package count_test

import (
	"fmt"
	"testing"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
)

// BenchmarkCount counts whole boards on one thread, with every kernel and symmetry. For comparison
// it also runs two other searches: one over arrays, and the textbook search over bitmasks.
// scripts/bench table prints the results as a table.
func BenchmarkCount(b *testing.B) {
	benchmark(b, "array", queens.None, 15, func(n int) uint64 {
		return oracle.Count(n, oracle.Everywhere, nil)
	})
	benchmark(b, "bitmask", queens.None, 16, func(n int) uint64 { return bitmask(1<<n-1, 0, 0, 0) })
	for _, k := range kernel.Available() {
		largest := 18
		if k.Name == "generic" {
			largest = 16
		}
		for _, s := range []queens.Symmetry{queens.None, queens.Mirror, queens.Full} {
			benchmark(b, k.Name, s, largest, func(n int) uint64 {
				total, err := count.Run(b.Context(),
					count.Job{Method: queens.Prefixes, N: n, Symmetry: s, Kernel: k, Threads: 1})
				if err != nil {
					b.Fatal(err)
				}
				return total.Uint64()
			})
		}
	}
}

// benchmark measures a search on boards of side 12 up to the parameter largest. The largest board
// takes a few seconds.
func benchmark(
	b *testing.B, search string, s queens.Symmetry, largest int, total func(n int) uint64,
) {
	for n := 12; n <= largest; n++ {
		b.Run(fmt.Sprintf("search=%s/symmetry=%s/n=%d", search, s, n), func(b *testing.B) {
			known, _ := queens.KnownTotal(n)
			for b.Loop() {
				if got := total(n); got != known.Uint64() {
					b.Fatalf("counted %d, want %d", got, known)
				}
			}
			solutions := float64(known.Uint64()) * float64(b.N)
			b.ReportMetric(solutions/b.Elapsed().Seconds(), "solutions/s")
		})
	}
}

// bitmask is the textbook search.
//
// References: M. Richards, "Backtracking algorithms in MCPL using bit patterns and
// recursion", University of Cambridge TR 433, 1997.
func bitmask(columns, cols, left, right uint32) uint64 {
	if cols == columns {
		return 1
	}
	var found uint64
	for free := columns &^ (cols | left | right); free != 0; free &= free - 1 {
		queen := free & -free
		found += bitmask(columns, cols|queen, (left|queen)<<1, (right|queen)>>1)
	}
	return found
}
