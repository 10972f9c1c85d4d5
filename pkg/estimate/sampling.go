package estimate

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// Bounds of the sample of tasks that Search counts.
const (
	// budget is the greatest time spent counting the sample.
	budget = 1300 * time.Millisecond
	// runTime is about the greatest time of a run of the sample, and calibrationTime the least that
	// shows the speed of the kernel.
	runTime         = budget / 10
	calibrationTime = runTime / 8
	// calibrationNodes is the size of the first run that is timed.
	calibrationNodes = 1e6
	// sampleFraction is the share of all work after which the sample is large enough, if it has
	// minRuns by then.
	sampleFraction = 1. / 3
	minRuns        = 128
	// minObservations is the least number of runs, even after the budget.
	minObservations = 8
)

// Cost is what the searches of a count take on one thread while the other threads are busy.
type Cost struct {
	// Seconds is the time of all searches, added up.
	Seconds float64
	// Error is the standard error of Seconds, as a share of Seconds.
	Error float64
	// CPUShare is the share of that time for which the threads of the sample had a core: 1 if nothing
	// else ran on the machine, or if it is not known.
	CPUShare float64
}

// Search estimates the cost of the searches of a count with the given plans and kernel. It counts a
// sample of tasks on the given number of threads at once, and measures their CPU time with the
// clock. A kernel shares work among the prefixes of a task, so it must get them together; of a task
// that takes too long it gets a run of consecutive prefixes.
//
// Each class gets runs in proportion to its share of the work. So the time of a run, times the
// number of such runs in the class, divided by the class's share of the work, estimates the time
// of all searches, and Seconds is the mean. Runs are evenly spread over the work of all classes,
// and within each class.
//
// References: M. H. Hansen, W. N. Hurwitz, "On the theory of sampling from finite populations",
// Annals of Mathematical Statistics 14 (1943), 333-362.
func (t *TreeEstimate) Search(ctx context.Context, k kernel.Kernel, plans []queens.ClassPlan, threads int, ran CPUClock) (Cost, error) {
	if len(t.classes) == 0 {
		return Cost{CPUShare: 1}, nil
	}
	var nodes float64
	err := k.WithCounter(func(c kernel.Counter) (err error) {
		nodes, err = t.calibrate(ctx, c, plans)
		return err
	})
	if err != nil {
		return Cost{}, err
	}
	pools, err := t.pools(ctx, plans, nodes, threads)
	if err != nil {
		return Cost{}, err
	}
	s := sampler{trees: t, pools: pools, runs: t.enough(pools)}
	deadline := time.Now().Add(budget)
	before, _ := ran()
	var mu sync.Mutex
	var observations []float64
	err = inParallel(ctx, threads, threads, func(ctx context.Context, _ int) error {
		return k.WithCounter(func(c kernel.Counter) error {
			seconds, err := s.observe(ctx, c, deadline)
			mu.Lock()
			defer mu.Unlock()
			observations = append(observations, seconds...)
			return err
		})
	})
	if err != nil {
		return Cost{}, err
	}
	cost := mean(observations)
	cost.CPUShare = 1
	if after, known := ran(); known && cost.Seconds > 0 {
		cost.CPUShare = min(1, float64(after-before)/float64(s.counted.Load()))
	}
	return cost, nil
}

// calibrate returns the number of nodes of a run that takes about runTime, as a power of two: so
// machines of about the same speed count the same runs. It counts runs of the largest class, each larger
// than the one before, until one takes long enough to show the kernel's speed.
func (t *TreeEstimate) calibrate(ctx context.Context, c kernel.Counter, plans []queens.ClassPlan) (nodes float64, err error) {
	largest := slices.Index(t.workShares, slices.Max(t.workShares))
	for nodes = calibrationNodes; ; nodes *= 4 {
		plan := t.runPlan(largest, plans[largest], nodes)
		p, err := t.pool(ctx, largest, plan, false)
		if err != nil {
			return 0, err
		}
		prefixes, _ := p.run(0.5)
		elapsed, err := timed(ctx, c, &plan.Board, prefixes)
		if err != nil {
			return 0, err
		}
		if elapsed >= calibrationTime || plan == plans[largest] {
			nodes *= float64(runTime) / float64(max(elapsed, 1))
			return math.Exp2(math.Round(math.Log2(nodes))), nil
		}
	}
}

// enough returns the number of runs that are enough.
func (t *TreeEstimate) enough(pools []pool) int64 {
	var all float64
	for i := range pools {
		all += t.Profiles[i][pools[i].plan.Depth] / float64(pools[i].plan.Batch)
	}
	return max(minRuns, int64(min(all*sampleFraction, math.MaxInt64/2)))
}

// timed counts prefixes and returns how long that took.
func timed(ctx context.Context, c kernel.Counter, b *queens.Board, prefixes []queens.Prefix) (time.Duration, error) {
	var pulse atomic.Uint64
	start := time.Now()
	_, err := c.Count(ctx, b, prefixes, &pulse)
	return time.Since(start), err
}

// sampler hands out the runs of the sample. A run depends on its number and the size of runs only.
type sampler struct {
	trees   *TreeEstimate
	pools   []pool
	runs    int64 // number of runs that is enough
	next    atomic.Int64
	counted atomic.Int64 // time spent counting runs, in ns, of all threads
}

// observe counts runs on one thread until there are enough, or until the deadline has passed and
// there are minObservations. It returns the estimate of the time of all searches, in seconds, from
// each run.
func (s *sampler) observe(ctx context.Context, c kernel.Counter, deadline time.Time) (observations []float64, err error) {
	for {
		run := s.next.Add(1) - 1
		if run >= s.runs || run >= minObservations && !time.Now().Before(deadline) {
			return observations, nil
		}
		class, position := s.trees.at(position(run))
		prefixes, inClass := s.pools[class].run(position)
		if len(prefixes) == 0 {
			observations = append(observations, 0)
			continue
		}
		elapsed, err := timed(ctx, c, &s.pools[class].plan.Board, prefixes)
		if err != nil {
			return nil, err
		}
		s.counted.Add(int64(elapsed))
		observations = append(observations, elapsed.Seconds()*inClass/s.trees.workShares[class])
	}
}

// position returns the position of a run in all work, from 0 to 1. The positions of consecutive numbers
// are evenly spread, as the multiples of the golden ratio modulo 1 are.
func position(run int64) float64 {
	_, position := math.Modf(float64(run) * math.Phi)
	return position
}

// at returns the class at a position of all work, and the position within that class, from 0 to 1.
func (t *TreeEstimate) at(position float64) (class int, within float64) {
	for class, share := range t.workShares {
		if position < share {
			return class, position / share
		}
		position -= share
	}
	return len(t.workShares) - 1, 1
}

// mean returns the mean of the observations, with the standard error of independent observations: an
// upper bound, because runs are evenly spread.
func mean(observations []float64) Cost {
	var sum, squares float64
	for _, seconds := range observations {
		sum += seconds
		squares += seconds * seconds
	}
	if sum == 0 {
		return Cost{}
	}
	n := float64(len(observations))
	return Cost{Seconds: sum / n, Error: math.Sqrt(max(squares*n/(sum*sum)-1, 0) / (n - 1))}
}
