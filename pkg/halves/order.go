package halves

import "math/bits"

// order is an order of the diagonals in masks: the diagonal at bit i gets bit to[i].
type order struct {
	diagonals int
	to        [64]uint8
}

// find sets the order in which the diagonals that exclude the most pairs of half-boards have the
// highest bits: those that are in many eighths of either half.
func (o *order) find(n int, west, east *half) {
	westCounts, eastCounts := west.countDiagonals(), east.countDiagonals()
	var excluded [64]int
	for i := range excluded {
		excluded[i] = westCounts[i] * eastCounts[i]
	}
	o.diagonals = 0
	for i := range 2 * (n - 1) {
		if longDiagonals(n)>>i&1 != 0 {
			continue
		}
		o.to[i] = 0
		for before := range i {
			if longDiagonals(n)>>before&1 != 0 {
				continue
			}
			if excluded[before] <= excluded[i] {
				o.to[i]++
			} else {
				o.to[before]++
			}
		}
		o.diagonals++
	}
}

// countDiagonals returns how many eighths have each diagonal.
func (h *half) countDiagonals() (counts [64]int) {
	for i := range h.strips {
		for _, e := range h.strips[i].all {
			for rest := e.mask; rest != 0; rest &= rest - 1 {
				counts[bits.TrailingZeros64(rest)]++
			}
		}
	}
	return counts
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
