package split

import (
	"math/bits"
	"math/rand/v2"

	"nqueens/pkg/queens"
)

// Profile estimates a board's search tree: for each depth 0..N, the number of ways to place queens
// on that many rows.
//
// References: [Knuth] D. E. Knuth, "Estimating the efficiency of backtrack programs",
// Mathematics of Computation 29 (1975), 121-136.
type Profile [queens.MaxN + 1]float64

// Probe estimates the board's profile from random probes, as in [Knuth]: a probe walks down the
// board, chooses among the free squares of each row with equal chance, and counts as the product
// of their numbers. The seed and all roundings are fixed, so the estimate is the same on every
// machine.
func Probe(b queens.Board, probes int) Profile {
	var sum Profile
	sum.Add(&b, probes, rand.NewPCG(1975, uint64(b.N)))
	for depth := range sum {
		sum[depth] /= float64(probes)
	}
	return sum
}

// Add adds random probes of the board to the sums of others, and returns the sum of the squares of what they add to
// the last of them.
func (p *Profile) Add(b *queens.Board, probes int, source *rand.PCG) (squares float64) {
	for range probes {
		var cols, left, right uint32 // as in a queens.Prefix; left may have bits beyond the board
		weight := 1.0
		p[0]++
		for row, allow := range b.Allow[:b.N] {
			free := allow &^ (cols | left | right)
			choices := bits.OnesCount32(free)
			if choices == 0 {
				weight = 0
				break
			}
			queen := choose(free, choices, source)
			cols, left, right = cols|queen, (left|queen)<<1, (right|queen)>>1
			// The conversions forbid fused operations, which round differently.
			weight = float64(weight * float64(choices))
			p[row+1] = float64(p[row+1] + weight)
		}
		squares = float64(squares + float64(weight*weight))
	}
	return squares
}

// Step takes a random probe one row down: it returns p with a queen on one of the free squares of
// its row, each with the same chance, and the number of these squares. If there is none, it returns
// p and 0. p must not have all N rows.
func Step(b *queens.Board, p queens.Prefix, source *rand.PCG) (next queens.Prefix, choices int) {
	free := p.Free(b)
	choices = bits.OnesCount32(free)
	if choices == 0 {
		return p, 0
	}
	return p.Place(b, choose(free, choices, source)), choices
}

// choose returns one of the free squares, each with the same chance. There are that many choices.
func choose(free uint32, choices int, source *rand.PCG) uint32 {
	pick, _ := bits.Mul64(source.Uint64(), uint64(choices))
	for range pick {
		free &= free - 1
	}
	return free & -free
}

// NodesBelow returns the estimated number of nodes in the search trees of all prefixes of the given
// depth, the prefixes included.
func (p *Profile) NodesBelow(depth int) float64 {
	var nodes float64
	for _, width := range p[depth:] {
		nodes += width
	}
	return nodes
}
