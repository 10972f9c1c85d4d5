package estimate

import (
	"context"
	"math"
	"math/rand/v2"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// TreeEstimate describes the search trees of a count's classes, as random probes found them.
//
// References: [Knuth] D. E. Knuth, "Estimating the efficiency of backtrack programs",
// Mathematics of Computation 29 (1975), 121-136.
type TreeEstimate struct {
	// Solutions is the number of solutions on the whole board, and of probes in all classes together.
	Solutions Solutions

	// Profiles holds one profile per class, in the order of the classes.
	Profiles []split.Profile

	classes    []queens.Class
	workShares []float64 // of each class in the work of all; together they are 1
}

// DefaultProbes is the approximate number of probes of an estimate. The mean error of the number of
// solutions is then 0.3% for n = 8 and 2% for n = 32; the probes take half a core-second.
const DefaultProbes = 1 << 20

const (
	// pilotProbes is the number of probes a class by which the other probes are divided among the
	// classes.
	pilotProbes = 200
	// minProbes is the least number of probes of a class.
	minProbes = 1000
	// confidence is the half width of the 95% confidence interval, in standard errors.
	confidence = 1.96
	// classOverhead is the cost of a class besides its search, in nodes: one call of the kernel.
	classOverhead = 5e5
)

// Probe estimates the trees of the classes with about the given number of random probes, as in [Knuth].
// A probe that ends with a queen on the last row counts as the product of its numbers of choices,
// times the weight of its class. The classes are the strata of one estimate; each gets probes in proportion to its
// share of the weighted nodes. The same seed gives the same estimate on every machine, for any number of threads.
func Probe(ctx context.Context, classes []queens.Class, probes int, seed uint64, threads int) (*TreeEstimate, error) {
	t := &TreeEstimate{classes: classes, Profiles: make([]split.Profile, len(classes)), workShares: make([]float64, len(classes))}
	var nodes, weights float64
	for i, class := range classes {
		t.Profiles[i] = split.Probe(class.Board, pilotProbes)
		weights += float64(class.Weight) * t.Profiles[i].NodesBelow(0)
	}
	each := make([]int, len(classes))
	for i, class := range classes {
		each[i] = minProbes + int(float64(probes)*(float64(class.Weight)*t.Profiles[i].NodesBelow(0)/weights))
		t.Solutions.Probes += each[i]
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
		w := float64(class.Weight)
		mean += float64(w * t.Profiles[i][class.Board.N])
		variance += float64(w * w * variances[i])
		t.workShares[i] = t.Profiles[i].NodesBelow(0) + classOverhead
		nodes += t.workShares[i]
	}
	for i := range t.workShares {
		t.workShares[i] /= nodes
	}
	margin := confidence * math.Sqrt(variance)
	t.Solutions.Mean, t.Solutions.Low, t.Solutions.High = mean, max(mean-margin, 0), mean+margin
	return t, nil
}

// pollInterval is the number of probes, of a microsecond at most, between two polls of the context.
const pollInterval = 1 << 12

// probe returns the profile of a board from the given number of probes, and the variance of its last
// element, the number of solutions (the square of its standard error).
func probe(ctx context.Context, b *queens.Board, probes int, source *rand.PCG) (mean split.Profile, variance float64, err error) {
	var squares float64
	for done := 0; done < probes; done += pollInterval {
		if ctx.Err() != nil {
			return mean, 0, context.Cause(ctx)
		}
		squares += mean.Add(b, min(pollInterval, probes-done), source)
	}
	for row := range mean {
		mean[row] /= float64(probes)
	}
	solutions := mean[b.N]
	variance = max(squares/float64(probes)-float64(solutions*solutions), 0) / float64(probes-1)
	return mean, variance, nil
}

// inParallel calls do for each of 0..n-1 on the given number of threads, until one call fails.
func inParallel(ctx context.Context, threads, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(threads)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
