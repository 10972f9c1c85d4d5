package halves

import (
	"math/bits"
	"math/rand/v2"
)

// order is an order of the diagonals in masks: the diagonal at bit i gets bit to[i].
type order struct {
	n         int // side of the board
	diagonals int
	to        [64]uint8

	random     rand.PCG
	west, east []uint64 // samples of half-boards
	common     []uint64 // diagonals that pairs of them have in common
}

// reserve makes room for an order of the diagonals of a board of side n.
func (o *order) reserve(n int) {
	o.n = n
	o.west, o.east = make([]uint64, 0, sampleMasks), make([]uint64, 0, sampleMasks)
	o.common = make([]uint64, 0, pairsFor(n))
}

// pairsFor returns the number of pairs by which an order is found.
func pairsFor(n int) int { return 1 << min(max(10, n-9), 16) }

// find sets an order by a sample of pairs of an eastern and a wanted western half-board. The
// diagonals in the masks of the halves have no order yet.
func (o *order) find(west, east *half, wanted kinds) {
	o.random.Seed(uint64(o.n), 0)
	o.west = west.sample(o.west[:0], wanted, &o.random)
	o.east = east.sample(o.east[:0], kinds{once: noLong}, &o.random)
	o.common = o.common[:0]
	if len(o.west) > 0 && len(o.east) > 0 {
		for range cap(o.common) {
			p := o.west[o.random.Uint64()%uint64(len(o.west))]
			q := o.east[o.random.Uint64()%uint64(len(o.east))]
			o.common = append(o.common, p&q)
		}
	}
	o.choose((1<<(2*(o.n-1)) - 1) &^ longDiagonals(o.n))
}

// choose sets an order of the given diagonals: from the highest bit down, each excludes the most
// pairs of those that the diagonals before it leave.
func (o *order) choose(diagonals uint64) {
	o.diagonals = bits.OnesCount64(diagonals)
	for bit := o.diagonals - 1; bit >= 0; bit-- {
		next := o.best(diagonals)
		o.to[next] = uint8(bit)
		diagonals &^= 1 << next
		left := 0
		for _, common := range o.common {
			if common>>next&1 == 0 {
				o.common[left] = common
				left++
			}
		}
		o.common = o.common[:left]
	}
}

// best returns the diagonal of a set that excludes the most pairs.
func (o *order) best(of uint64) (best int) {
	var excluded [64]int
	for _, common := range o.common {
		for ; common != 0; common &= common - 1 {
			excluded[bits.TrailingZeros64(common)]++
		}
	}
	most := -1
	for ; of != 0; of &= of - 1 {
		if i := bits.TrailingZeros64(of); excluded[i] > most {
			best, most = i, excluded[i]
		}
	}
	return best
}

// apply puts the diagonals in the masks of a half in this order.
func (o *order) apply(h *half) {
	for i := range h.strips {
		for j := range h.strips[i].all {
			mask := &h.strips[i].all[j].mask
			ordered := *mask & onLong
			for rest := *mask &^ onLong; rest != 0; rest &= rest - 1 {
				ordered |= 1 << o.to[bits.TrailingZeros64(rest)]
			}
			*mask = ordered
		}
	}
}
