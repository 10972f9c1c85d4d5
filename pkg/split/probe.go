package split

import (
	"iter"
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

// Probe estimates the board's profile from random probes, as in [Knuth]. The seed and all roundings
// are fixed, so the estimate is the same on every machine.
func Probe(b queens.Board, probes int) (mean Profile) {
	source := rand.NewPCG(1975, uint64(b.N))
	for range probes {
		for p, weight := range Descend(&b, queens.Prefix{}, source) {
			mean[p.Row] = float64(mean[p.Row] + weight)
		}
	}
	for depth := range mean {
		mean[depth] /= float64(probes)
	}
	return mean
}

// Descend yields the prefixes of a random probe that starts at p and goes down the board. With each
// prefix it yields a weight, the number of prefixes that this one represents: the product of the
// numbers of free squares in the rows from p on. A probe chooses one of the free squares of each
// row, all with the same chance. It ends at a row without a free square, or after the last row.
func Descend(b *queens.Board, p queens.Prefix, source *rand.PCG) iter.Seq2[queens.Prefix, float64] {
	return descend(b, p, source, func(p queens.Prefix) uint32 { return p.Free(b) })
}

// descend does what [Descend] does, but chooses among the squares that the function squares returns
// for a prefix.
func descend(
	b *queens.Board, p queens.Prefix, source *rand.PCG, squares func(queens.Prefix) uint32,
) iter.Seq2[queens.Prefix, float64] {
	return func(yield func(queens.Prefix, float64) bool) {
		for weight := 1.0; yield(p, weight) && p.Row < b.N; {
			left := squares(p)
			choices := bits.OnesCount32(left)
			if choices == 0 {
				return
			}
			pick, _ := bits.Mul64(source.Uint64(), uint64(choices))
			for range pick {
				left &= left - 1
			}
			p = p.Place(b, left&-left)
			// the conversion forbids fused operations, which round differently
			weight = float64(weight * float64(choices))
		}
	}
}

// searchCost estimates the work of kernels in a search of all prefixes of the given depth: the
// number of squares on which kernels try a queen. The probes place no queen that leaves one of the
// next two rows, or the last row, without a free square. Kernels do about the same. On boards with
// few allowed squares on their sides, this cuts off most of the plain search tree. The estimated
// shares of the classes were compared with the measured times of avx512 at n = 17 to 19. The
// differences added up to 5 to 8% of the run. When the estimate was the nodes of the plain tree,
// they added up to 17 to 27%.
func searchCost(b *queens.Board, depth, probes int) float64 {
	source, cost := rand.NewPCG(1975, uint64(b.N)), 0.0
	kept := func(p queens.Prefix) (squares uint32) {
		for free := p.Free(b); free != 0; free &= free - 1 {
			if square := free & -free; leavesSquares(b, p.Place(b, square)) {
				squares |= square
			}
		}
		return squares
	}
	for range probes {
		for p, weight := range descend(b, queens.Prefix{}, source, kept) {
			if p.Row >= depth && p.Row < b.N {
				cost += weight * float64(bits.OnesCount32(p.Free(b)))
			}
		}
	}
	return cost / float64(probes)
}

// leavesSquares reports whether each of the next two rows and the last row has a free square.
func leavesSquares(b *queens.Board, p queens.Prefix) bool {
	for _, row := range [3]int{p.Row, p.Row + 1, b.N - 1} {
		below := row - p.Row
		if below < 0 || row >= b.N {
			continue
		}
		if attacked := p.Cols | p.Left<<below | p.Right>>below; b.Allow[row]&^attacked == 0 {
			return false
		}
	}
	return true
}

// NodesBelow returns the estimated number of nodes in the search trees of all prefixes of the given
// depth, the prefixes included.
func (p *Profile) NodesBelow(depth int) (nodes float64) {
	for _, width := range p[depth:] {
		nodes += width
	}
	return nodes
}
