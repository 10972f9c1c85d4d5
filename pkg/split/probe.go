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

// searchCost estimates what kernels take to search all prefixes of that depth, in squares on which they try a queen. It
// probes the tree that they search: they leave out a queen after which one of the next two rows, or the last row, has no
// free square. Boards whose sides are strict lose most of their plain search tree by that. At n = 17 to 19 the shares of the
// classes in this cost differ from those in the time of avx512 by 5 to 8% of the run, summed over the classes, and shares
// in the nodes of the plain tree by 17 to 27%.
func searchCost(b *queens.Board, depth, probes int) float64 {
	source := rand.NewPCG(1975, uint64(b.N))
	cost := 0.0
	for range probes {
		p, weight := queens.Prefix{}, 1.0
		for p.Row < b.N && weight > 0 {
			free, kept := p.Free(b), uint32(0)
			for rest := free; rest != 0; rest &= rest - 1 {
				if square := rest & -rest; leavesSquares(b, p.Place(b, square)) {
					kept |= square
				}
			}
			if p.Row >= depth {
				cost += weight * float64(bits.OnesCount32(free))
			}
			choices := bits.OnesCount32(kept)
			if weight *= float64(choices); choices > 0 {
				p = p.Place(b, choose(kept, choices, source))
			}
		}
	}
	return cost / float64(probes)
}

// leavesSquares reports whether the next two rows and the last row of a board have a free square.
func leavesSquares(b *queens.Board, p queens.Prefix) bool {
	for _, row := range [3]int{p.Row, p.Row + 1, b.N - 1} {
		if below := row - p.Row; below >= 0 && row < b.N && b.Allow[row]&^(p.Cols|p.Left<<below|p.Right>>below) == 0 {
			return false
		}
	}
	return true
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
