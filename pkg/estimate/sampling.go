package estimate

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// Bounds of the sample of prefixes that Search counts.
const (
	// budget is the greatest time spent counting the sample.
	budget = 1300 * time.Millisecond
	// batchTime is the approximate time of a batch: long for one call of a kernel, short beside the
	// budget.
	batchTime = 8 * time.Millisecond
	// sampleFraction is the share of all work after which the sample is large enough, if it has
	// minBatches by then.
	sampleFraction = 1. / 3
	minBatches     = 128
	// minObservations is the least number of batches, even after the budget.
	minObservations = 32
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
// sample of prefixes, in batches like tasks, on the given number of threads at once, and measures
// their CPU time with the clock.
//
// A batch has prefixes of one class, and each class gets batches in proportion to its share of the
// work. So the time of a batch, divided by the batch's share of the class's prefixes and by the
// class's share of the work, estimates the time of all searches, and Seconds is the mean. Batches
// are evenly spread over the work of all classes.
//
// References: M. H. Hansen, W. N. Hurwitz, "On the theory of sampling from finite populations",
// Annals of Mathematical Statistics 14 (1943), 333-362.
func (t *TreeEstimate) Search(ctx context.Context, k kernel.Kernel, plans []queens.ClassPlan, threads int, ran CPUClock) (Cost, error) {
	if len(t.classes) == 0 {
		return Cost{CPUShare: 1}, nil
	}
	pools, err := t.pools(ctx, threads)
	if err != nil {
		return Cost{}, err
	}
	s := sampler{trees: t, pools: pools, batch: make([]int, len(pools)), batches: minBatches}
	err = k.WithCounter(func(c kernel.Counter) error { return s.calibrate(ctx, c, plans) })
	if err != nil {
		return Cost{}, err
	}
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
	cost.Error = math.Hypot(cost.Error, s.poolError())
	cost.CPUShare = 1
	if after, known := ran(); known && cost.Seconds > 0 {
		cost.CPUShare = min(1, float64(after-before)/float64(s.counted.Load()))
	}
	return cost, nil
}

// sampler hands out the batches of the sample. The prefixes of a batch depend on its number only.
type sampler struct {
	trees   *TreeEstimate
	pools   []pool
	batch   []int // batch size of each class
	batches int64 // number of batches that is enough
	next    atomic.Int64
	counted atomic.Int64 // time spent counting batches, in ns, of all threads
}

// calibrate chooses the sizes of the batches and their number. It counts batches of the largest class,
// each larger than the one before, until one takes long enough to show the kernel's speed.
func (s *sampler) calibrate(ctx context.Context, c kernel.Counter, plans []queens.ClassPlan) error {
	largest := slices.Index(s.trees.workShares, slices.Max(s.trees.workShares))
	rng := rand.New(rand.NewPCG(0, 0))
	nodes := targetPrefixNodes
	for {
		number := s.pools[largest].fit(nodes)
		elapsed, err := s.time(ctx, c, largest, s.pools[largest].batch(number, rng))
		if err != nil {
			return err
		}
		if elapsed >= batchTime/2 || nodes >= s.trees.taskNodes(largest, &plans[largest]) {
			nodes *= float64(batchTime) / max(float64(elapsed), 1)
			break
		}
		nodes *= 4
	}
	var all float64
	for i := range s.pools {
		s.batch[i] = s.pools[i].fit(min(nodes, s.trees.taskNodes(i, &plans[i])))
		all += s.pools[i].size / float64(s.batch[i])
	}
	s.batches = max(s.batches, int64(min(all*sampleFraction, math.MaxInt64/2)))
	return nil
}

// taskNodes returns the approximate number of nodes of a task of the class.
func (t *TreeEstimate) taskNodes(class int, plan *queens.ClassPlan) float64 {
	profile := &t.Profiles[class]
	return float64(plan.Batch) * profile.NodesBelow(plan.Depth) / max(profile[plan.Depth], 1)
}

// fit returns the number of prefixes that have the given number of nodes together, within the limits of a
// task.
func (p *pool) fit(nodes float64) int {
	return int(min(max(math.Round(nodes/max(p.nodes, 1)), 1), queens.MaxBatch))
}

// time counts a batch and returns how long that took.
func (s *sampler) time(ctx context.Context, c kernel.Counter, class int, batch []queens.Prefix) (time.Duration, error) {
	var pulse atomic.Uint64
	start := time.Now()
	_, err := c.Count(ctx, s.pools[class].board, batch, &pulse)
	return time.Since(start), err
}

// observe counts batches on one thread until there are enough, or until the deadline has passed and
// there are minObservations. It returns the estimate of the time of all searches, in seconds, from
// each batch.
func (s *sampler) observe(ctx context.Context, c kernel.Counter, deadline time.Time) (observations []float64, err error) {
	for {
		batch := s.next.Add(1) - 1
		if batch >= s.batches || batch >= minObservations && !time.Now().Before(deadline) {
			return observations, nil
		}
		class := s.class(position(batch))
		pool := &s.pools[class]
		if len(pool.prefixes) == 0 {
			observations = append(observations, 0)
			continue
		}
		prefixes := pool.batch(s.batch[class], rand.New(rand.NewPCG(1, uint64(batch))))
		elapsed, err := s.time(ctx, c, class, prefixes)
		if err != nil {
			return nil, err
		}
		s.counted.Add(int64(elapsed))
		inAll := pool.size / float64(len(prefixes)) / s.trees.workShares[class]
		observations = append(observations, elapsed.Seconds()*inAll)
	}
}

// position returns the position of a batch in all work, from 0 to 1. The positions of any run of numbers
// are evenly spread, as the multiples of the golden ratio modulo 1 are.
func position(batch int64) float64 {
	_, position := math.Modf(float64(batch) * math.Phi)
	return position
}

// class returns the class at a position of all work.
func (s *sampler) class(position float64) int {
	for class, share := range s.trees.workShares {
		if position < share {
			return class
		}
		position -= share
	}
	return len(s.pools) - 1
}

// poolError returns the relative standard error that all batches share because they come from the same
// pools.
func (s *sampler) poolError() float64 {
	var variance float64
	for i, share := range s.trees.workShares {
		variance += share * share * s.pools[i].variance
	}
	return math.Sqrt(variance)
}

// mean returns the mean of the observations, with the standard error of independent observations: an
// upper bound, because batches are evenly spread.
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
