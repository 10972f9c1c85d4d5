package estimate

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"slices"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// probePaths returns the prefixes of a depth that random probes find, as the columns of their queens in
// lexicographic order, and of how many prefixes each is one.
func probePaths(b *queens.Board, depth, probes int, source *rand.PCG) (paths [][]byte, products []float64) {
	type found struct {
		path    []byte
		product float64
	}
	var all []found
	for range probes {
		f, p := found{product: 1}, queens.Prefix{}
		for p.Row < depth && f.product > 0 {
			next, choices := split.Step(b, p, source)
			f.path = append(f.path, byte(bits.TrailingZeros32(next.Cols&^p.Cols)))
			f.product *= float64(choices)
			p = next
		}
		if f.product > 0 {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(x, y found) int { return bytes.Compare(x.path, y.path) })
	for _, f := range all {
		paths, products = append(paths, f.path), append(products, f.product)
	}
	return paths, products
}

// estimateNodes estimates the number of nodes in the search trees of the prefixes of a task, as a
// mean of the task's prefixes. Random probes choose subtrees at a depth, and their nodes are counted.
func estimateNodes(b *queens.Board, batch []queens.Prefix, depth, searches int, source *rand.PCG) float64 {
	var sum float64
	for i := range searches {
		p, weight, found := batch[i*len(batch)/searches], 1.0, 0.0
		for p.Row < depth && weight > 0 {
			var choices int
			found += weight
			p, choices = split.Step(b, p, source)
			weight *= float64(choices)
		}
		if weight > 0 {
			found += weight * float64(countNodes(b, p))
		}
		sum += found
	}
	return sum / float64(searches)
}

// countNodes returns the size of the search tree of a prefix, itself included.
func countNodes(b *queens.Board, p queens.Prefix) uint64 {
	sum := uint64(1)
	if p.Row == b.N {
		return sum
	}
	for free := p.Free(b); free != 0; free &= free - 1 {
		sum += countNodes(b, p.Place(b, free&-free))
	}
	return sum
}
