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
	// targetPrefixNodes is about what a prefix of the sample costs, in nodes: 50 µs with the fastest
	// kernel, a millisecond with the slowest. So the sample has many prefixes of unlike
	// cost.
	targetPrefixNodes = 2e5
	// poolSize is the number of prefixes that are held to draw from, for all classes
	// together, at 40 bytes each.
	poolSize = 1 << 18
	// minPoolSize is what a class has of them at least, where it has so many.
	minPoolSize = 256
)

// pool is what a class's prefixes are drawn from: all there are of one depth, or random
// ones, each of which stands for as many as its descent's product says.
type pool struct {
	board    *queens.Board
	prefixes []queens.Prefix
	// until[i] is the number that prefixes[:i+1] stand for.
	cumulative []float64
	complete   bool    // they are all there are
	size       float64 // number of prefixes there are, estimated unless all
	nodes      float64 // of one prefix's tree, on average
	// variance is that of an estimate of the class's work from the pool, relative to
	// its square: the cost of every single prefix in the pool is taken to be known. It
	// is 0 if they are all.
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
		descents := minPoolSize + int(poolSize*t.workShares[i])
		return p.draw(ctx, depths[i], descents, rand.NewPCG(uint64(descents), uint64(i)))
	})
	return pools, err
}

// enumerate takes all prefixes of that depth.
func (p *pool) enumerate(depth int) {
	p.complete = true
	for prefix := range split.Prefixes(*p.board, depth) {
		p.size++
		p.prefixes, p.cumulative = append(p.prefixes, prefix), append(p.cumulative, p.size)
	}
}

// draw takes the prefixes that so many descents find.
func (p *pool) draw(ctx context.Context, depth, descents int, source *rand.PCG) error {
	var sum, squares float64
	for i := range descents {
		if i%pollInterval == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		prefix, product := descend(p.board, depth, source, nil)
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
	p.size = sum / float64(descents)
	// The costs of prefixes of one depth are taken to differ by as much as their mean,
	// whatever their products.
	p.variance = (2*squares/sum/sum - 1/float64(descents))
	return nil
}

// batch returns number prefixes of the class, fewer where there are no more. Each prefix
// of the class has about the same chance: they are taken at equal distances, from a
// random start, of the numbers that they stand for.
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
