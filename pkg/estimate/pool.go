package estimate

import (
	"context"
	"math"
	"math/rand/v2"
	"sort"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

const (
	// targetPrefixNodes is the approximate cost of a prefix of the sample, in nodes: 50 µs with the
	// fastest kernel, a millisecond with the slowest. So the sample has many prefixes of different
	// costs.
	targetPrefixNodes = 2e5
	// poolSize is the number of prefixes in the pools of all classes together, at 40 bytes each.
	poolSize = 1 << 18
	// minPoolSize is the least number of prefixes in the pool of a class, where the class has so
	// many.
	minPoolSize = 256
)

// pool holds prefixes of a class to sample from: all prefixes of one depth, or random ones, each of
// which stands for as many prefixes as the product of its probe.
type pool struct {
	board    *queens.Board
	prefixes []queens.Prefix
	// cumulative[i] is the number of prefixes that prefixes[:i+1] stand for.
	cumulative []float64
	complete   bool    // it holds all prefixes
	size       float64 // number of prefixes of the class, estimated unless complete
	nodes      float64 // of one prefix's tree, on average
	// variance is the relative variance of an estimate of the class's work from the pool, if the
	// cost of every prefix in the pool were known. It is 0 for a complete pool.
	variance float64
}

// pools makes the pool of each class.
func (t *TreeEstimate) pools(ctx context.Context, threads int) ([]pool, error) {
	pools := make([]pool, len(t.classes))
	depths := make([]int, len(t.classes))
	var sizes float64
	for i, class := range t.classes {
		profile := &t.Profiles[i]
		for depths[i] < class.Board.N && profile[depths[i]+1] > 0 && profile.NodesBelow(depths[i]) > targetPrefixNodes*profile[depths[i]] {
			depths[i]++
		}
		sizes += profile[depths[i]]
	}
	all := sizes <= poolSize
	err := inParallel(ctx, threads, len(pools), func(ctx context.Context, i int) error {
		p := &pools[i]
		p.board = &t.classes[i].Board
		p.nodes = t.Profiles[i].NodesBelow(depths[i]) / max(t.Profiles[i][depths[i]], 1)
		if all {
			p.enumerate(depths[i])
			return nil
		}
		probes := minPoolSize + int(poolSize*t.workShares[i])
		return p.draw(ctx, depths[i], probes, rand.NewPCG(uint64(probes), uint64(i)))
	})
	return pools, err
}

// enumerate fills the pool with all prefixes of the given depth.
func (p *pool) enumerate(depth int) {
	p.complete = true
	for prefix := range split.Prefixes(*p.board, depth) {
		p.size++
		p.prefixes, p.cumulative = append(p.prefixes, prefix), append(p.cumulative, p.size)
	}
}

// draw fills the pool with the prefixes that random probes find.
func (p *pool) draw(ctx context.Context, depth, probes int, source *rand.PCG) error {
	var sum, squares float64
	for i := range probes {
		if i%pollInterval == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		prefix, product := probeOnce(p.board, depth, source, nil)
		if prefix.Row < depth {
			continue
		}
		sum += product
		squares += product * product
		p.prefixes, p.cumulative = append(p.prefixes, prefix), append(p.cumulative, sum)
	}
	if sum == 0 {
		return nil
	}
	p.size = sum / float64(probes)
	// Assume that the standard deviation of the costs of prefixes of one depth equals their
	// mean, whatever their products.
	p.variance = (2*squares/sum/sum - 1/float64(probes))
	return nil
}

// batch returns number prefixes of the class, fewer if there are no more. Each prefix of the class has
// about the same chance: batch takes them at equal distances of the numbers that they stand for,
// from a random start.
func (p *pool) batch(number int, rng *rand.Rand) []queens.Prefix {
	if len(p.prefixes) == 0 || p.complete && number >= len(p.prefixes) {
		return p.prefixes
	}
	whole := p.cumulative[len(p.cumulative)-1]
	step := whole / float64(number)
	start := rng.Float64() * step
	batch := make([]queens.Prefix, number)
	for i := range batch {
		at := sort.SearchFloat64s(p.cumulative, math.Nextafter(start+float64(i)*step, math.Inf(1)))
		batch[i] = p.prefixes[min(at, len(p.prefixes)-1)]
	}
	return batch
}
