package split

import (
	"math/bits"
	"math/rand/v2"

	"nqueens/pkg/queens"
)

// Profile is an estimate of a board's search tree: for each depth, the number of
// ways to place queens on that many rows, 0..N.
//
// References: [Knuth] D. E. Knuth, "Estimating the efficiency of backtrack programs",
// Mathematics of Computation 29 (1975), 121-136.
type Profile [queens.MaxN + 1]float64

// Probe estimates the board's profile from so many random descents, as in [Knuth]:
// a descent chooses among the free squares of each row with equal chance, and stands
// for the product of their numbers. The seed is fixed and so are all roundings: the
// estimate is the same on every machine.
func Probe(b queens.Board, descents int) Profile {
	source := rand.NewPCG(1975, uint64(b.N))
	var sum Profile
	for range descents {
		p, weight := queens.Prefix{}, 1.0
		sum[0]++
		for p.Row < b.N {
			next, choices := Step(&b, p, source)
			if choices == 0 {
				break
			}
			p = next
			// The conversions forbid fused operations, which round differently.
			weight = float64(weight * float64(choices))
			sum[p.Row] = float64(sum[p.Row] + weight)
		}
	}
	for depth := range sum {
		sum[depth] /= float64(descents)
	}
	return sum
}

// Step goes one row down in a random descent: it returns p with a queen on one of the
// free squares of its row, each of which has the same chance, and their number. Where
// there is none, it returns p and 0. A prefix of all N rows has no next row.
func Step(b *queens.Board, p queens.Prefix, source *rand.PCG) (next queens.Prefix, choices int) {
	free := p.Free(b)
	choices = bits.OnesCount32(free)
	if choices == 0 {
		return p, 0
	}
	pick, _ := bits.Mul64(source.Uint64(), uint64(choices))
	for range pick {
		free &= free - 1
	}
	return p.Place(b, free&-free), choices
}

// NodesBelow returns the estimated number of nodes in the search trees of all prefixes of
// that depth, the prefixes themselves included.
func (p *Profile) NodesBelow(depth int) float64 {
	var nodes float64
	for _, width := range p[depth:] {
		nodes += width
	}
	return nodes
}
