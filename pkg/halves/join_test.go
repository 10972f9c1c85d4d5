package halves

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

// A join counts each pair that has no bit in common: once, or twice if the western mask counts
// twice. The longer list goes into the bins. Lists may be empty, and sorted by so few bits that the
// masks with the same first bits fit into no bin.
func TestJoin(t *testing.T) {
	const bits, most = 21, 3000
	for _, k := range Available() {
		for seed := range uint64(60) {
			rng := rand.New(rand.NewPCG(seed, 0))
			length := func() int { return rng.IntN(2) * rng.IntN([]int{10, 300, most}[rng.IntN(3)]) }
			var c crew
			c.reserve(1, k)
			c.start(t.Context(), new(atomic.Uint64))
			var s sorter
			s.reserve(&c, most)
			j := joiner{bits: bits, depth: 1 + rng.IntN(depthOf(most))}
			for _, list := range []*sorted{&j.east, &j.westOnce, &j.westTwice} {
				list.cells(j.depth)
				list.masks = sparseMasks(rng, length(), bits/chunk, 1+rng.IntN(3))
				s.sort(list, make([]uint64, most), bits, j.depth)
			}
			j.start()
			east, once, twice := j.east.masks, j.westOnce.masks, j.westTwice.masks
			if eastIsBinned := j.binned[0] == &j.east; eastIsBinned != (len(east) > len(once)+len(twice)) {
				t.Errorf("of %d eastern and %d western masks the eastern ones go into bins: %v",
					len(east), len(once)+len(twice), eastIsBinned)
			}
			c.run(j.join)
			want := compatible(east, once) + 2*compatible(east, twice)
			if got := c.all[0].found; got != want {
				t.Errorf("kernel %s, seed %d: %d eastern, %d and %d western masks by %d bits: %d pairs, "+
					"want %d", k.Name, seed, len(east), len(once), len(twice), j.depth, got, want)
			}
		}
	}
}

// Each diagonal of an order excludes the most pairs that those before it leave.
func TestOrder(t *testing.T) {
	o := order{common: []uint64{0b0011, 0b0011, 0b0001, 0b1000}}
	o.choose(0b1011) // diagonal 2 is none that counts
	if got := fmt.Sprint(o.diagonals, o.to[0], o.to[3], o.to[1]); got != "3 2 1 0" {
		t.Errorf("number of diagonals, and bits of diagonals 0, 3 and 1: %s", got)
	}
}

// An order gives each diagonal a bit of its own. The first ten leave less than half of the pairs
// that ten neighboring diagonals leave on average.
func TestOrderOfSample(t *testing.T) {
	const n, first = 18, 10
	c := newCounter(t, n, generic, false)
	all := uint32(1<<n - 1)
	for number := range uint64(5) {
		s, o := Set(n, number), &c.order
		c.west.list(&c.strip, all&^uint32(s), 0, anywhere)
		c.east.list(&c.strip, uint32(s), west(n), offDiagonals)
		o.find(&c.west, &c.east, kinds{once: oneLong, twice: twoLong})
		bits, chosen := map[uint8]bool{}, uint64(0)
		for diagonal := range 2 * (n - 1) {
			if longDiagonals(n)>>diagonal&1 != 0 {
				continue
			}
			bits[o.to[diagonal]] = true
			if int(o.to[diagonal]) >= o.diagonals-first {
				chosen |= 1 << diagonal
			}
		}
		if len(bits) != 2*(n-1)-2 || o.diagonals != len(bits) {
			t.Errorf("row set %d: %d diagonals have %d bits", number, o.diagonals, len(bits))
		}
		left := func(diagonals uint64) (pairs int) {
			for _, p := range o.west {
				for _, q := range o.east {
					if p&q&diagonals == 0 {
						pairs++
					}
				}
			}
			return pairs
		}
		sum, rows := 0, 2*(n-1)-first
		for low := range rows {
			sum += left((1<<first - 1) << low)
		}
		if got := left(chosen); 2*got*rows >= sum {
			t.Errorf("row set %d: the first diagonals leave %d pairs, neighbors %d", number, got, sum/rows)
		}
	}
}
