package estimate

import (
	"context"
	"math"
	"math/rand/v2"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// TreeEstimate is what random descents tell of the search trees of a count's classes.
//
// References: [Knuth] D. E. Knuth, "Estimating the efficiency of backtrack programs",
// Mathematics of Computation 29 (1975), 121-136.
type TreeEstimate struct {
	// Solutions is the number of solutions on the whole board, with the 95% confidence
	// interval.
	Solutions Range
	// DefaultProbes is the number of descents made, on all classes together.
	Probes int

	// Profiles are those of the classes, in their order.
	Profiles []split.Profile

	classes    []queens.Class
	workShares []float64 // of each class in the work of all; together they are 1
}

// DefaultProbes is about how many descents make an estimate. The mean error of the solutions
// is then 0.3% for n = 8 and 2% for n = 32, and they take half a core-second.
const DefaultProbes = 1 << 20

const (
	// pilotProbes is the number of descents by which those that follow are shared out among
	// the classes.
	pilotProbes = 200
	// minProbes is the number of descents that each class has at least.
	minProbes = 1000
	// confidence is the number of standard errors on either side of an estimate within
	// which the truth lies with a chance of 95%.
	confidence = 1.96
	// classOverhead is what a class costs besides its search, in nodes: a call of the kernel.
	classOverhead = 5e5
)

// Probe estimates the trees of the classes with about so many random descents, as in
// [Knuth], class by class: a descent that ends with a queen on the last row stands for as
// many solutions as the product of its choices, times 8/k. The classes are the strata of
// one estimate, and have descents by what they weigh. The same seed makes the same
// estimate on every machine, whatever the number of threads.
func Probe(ctx context.Context, classes []queens.Class, descents int, seed uint64, threads int) (*TreeEstimate, error) {
	t := &TreeEstimate{classes: classes, Profiles: make([]split.Profile, len(classes)), workShares: make([]float64, len(classes))}
	var nodes, weights float64
	for i, class := range classes {
		t.Profiles[i] = split.Probe(class.Board, pilotProbes)
		weights += weight(class) * t.Profiles[i].NodesBelow(0)
	}
	each := make([]int, len(classes))
	for i, class := range classes {
		each[i] = minProbes + int(float64(descents)*(weight(class)*t.Profiles[i].NodesBelow(0)/weights))
		t.Probes += each[i]
	}
	variances := make([]float64, len(classes))
	err := inParallel(ctx, threads, len(classes), func(ctx context.Context, i int) error {
		source := rand.NewPCG(seed, uint64(i))
		var err error
		t.Profiles[i], variances[i], err = probe(ctx, &classes[i].Board, each[i], source)
		return err
	})
	if err != nil {
		return nil, err
	}
	var mean, variance float64
	for i, class := range classes {
		w := weight(class)
		mean += float64(w * t.Profiles[i][class.Board.N])
		variance += float64(w * w * variances[i])
		t.workShares[i] = t.Profiles[i].NodesBelow(0) + classOverhead
		nodes += t.workShares[i]
	}
	for i := range t.workShares {
		t.workShares[i] /= nodes
	}
	margin := confidence * math.Sqrt(variance)
	t.Solutions = Range{Low: max(mean-margin, 0), Mid: mean, High: mean + margin}
	return t, nil
}

// weight returns the number of solutions that one on the class's board stands for.
func weight(c queens.Class) float64 { return 8 / float64(c.K) }

// pollInterval is the number of descents, of a microsecond at most, between two looks at the
// context.
const pollInterval = 1 << 12

// probe returns the profile of a board from so many descents, and the variance of its last
// element, the number of solutions: the square of its standard error.
func probe(ctx context.Context, b *queens.Board, descents int, source *rand.PCG) (mean split.Profile, variance float64, err error) {
	var squares float64
	for i := range descents {
		if i%pollInterval == 0 && ctx.Err() != nil {
			return mean, 0, context.Cause(ctx)
		}
		last, product := descend(b, b.N, source, func(row int, product float64) { mean[row] += product })
		if last.Row == b.N {
			squares = float64(squares + float64(product*product))
		}
	}
	for row := range mean {
		mean[row] /= float64(descents)
	}
	solutions := mean[b.N]
	variance = max(squares/float64(descents)-float64(solutions*solutions), 0) / float64(descents-1)
	return mean, variance, nil
}

// descend goes down at random, to depth rows or to where there is no free square, and
// returns the prefix and the product of the numbers of choices. It calls each, if it is
// not nil, with every row reached and the product so far.
func descend(b *queens.Board, depth int, source *rand.PCG, each func(row int, product float64)) (queens.Prefix, float64) {
	p, product := queens.Prefix{}, 1.0
	for {
		if each != nil {
			each(p.Row, product)
		}
		if p.Row == depth {
			return p, product
		}
		next, choices := split.Step(b, p, source)
		if choices == 0 {
			return p, product
		}
		p, product = next, float64(product*float64(choices))
	}
}

// inParallel calls do for each of 0..n-1 on so many threads, until one fails.
func inParallel(ctx context.Context, threads, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(threads)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
