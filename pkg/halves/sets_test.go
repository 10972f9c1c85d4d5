package halves

import (
	"math/bits"
	"testing"
)

// Of each row set and its mirror image, exactly one has a number, and no row set has two.
func TestSetsTile(t *testing.T) {
	for n := 1; n <= 19; n++ {
		seen := make([]bool, 1<<n)
		for number := range Sets(n) {
			s := Set(n, number)
			if size := bits.OnesCount32(uint32(s)); size != n-west(n) || s>>n != 0 {
				t.Fatalf("n = %d: row set %d is %b", n, number, s)
			}
			if seen[s] || seen[s.mirror(n)] {
				t.Fatalf("n = %d: row set %d, %b, has another number too", n, number, s)
			}
			seen[s] = true
		}
		for s := range RowSet(1) << n {
			if bits.OnesCount32(uint32(s)) == n-west(n) && !seen[s] && !seen[s.mirror(n)] {
				t.Fatalf("n = %d: rows %b have no number", n, s)
			}
		}
	}
}

// Sets returns the number of row sets: half of all, and half of those that are their own mirror
// image.
func TestSets(t *testing.T) {
	for n, want := range map[int]uint64{
		1: 1, 2: 1, 3: 2, 4: 4, 8: 38, 24: 1352540, 28: 20060016, 32: 300546630,
	} {
		if got := Sets(n); got != want {
			t.Errorf("n = %d has %d row sets, want %d", n, got, want)
		}
	}
}

// Large boards have as many row sets as numbers: the ranks are a permutation of the numbers, and
// neighboring ranks differ.
func TestLargeSets(t *testing.T) {
	for _, n := range []int{24, 27, 32} {
		sets := Sets(n)
		if gcd(numbering[n].step, sets) != 1 {
			t.Errorf("n = %d: the step %d and %d row sets have a common divisor", n, numbering[n].step, sets)
		}
		for rank := uint64(0); rank < sets-1; rank += sets / 1000 {
			if ranked(n, rank) == ranked(n, rank+1) {
				t.Errorf("n = %d: ranks %d and %d are one row set", n, rank, rank+1)
			}
		}
	}
}

// The numbers are scattered: in any range of numbers, each row is in many row sets and missing in
// many.
func TestSetsAreScattered(t *testing.T) {
	const n, many = 24, 1000
	for first := uint64(0); first+many < Sets(n); first += Sets(n) / 17 {
		var sets [n]int
		for number := first; number < first+many; number++ {
			for row := range n {
				if Set(n, number).has(row) {
					sets[row]++
				}
			}
		}
		for row, with := range sets {
			if with < many/8 || with > many*7/8 {
				t.Errorf("%d of %d row sets from number %d have row %d", with, many, first, row)
			}
		}
	}
}

func BenchmarkSet(b *testing.B) {
	sets, number := Sets(28), uint64(0)
	for b.Loop() {
		Set(28, number)
		number = (number + 1) % sets
	}
}
