package estimate

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"nqueens/pkg/count"
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
	// enoughRuns is the number of runs that is enough before the budget is spent, and enoughPerThread
	// that of each thread: all threads must be busy at once.
	enoughRuns      = 128
	enoughPerThread = 4
	// minObservations is the least number of runs, even after the budget.
	minObservations = 8
	// nodeSearches is the number of subtrees that are searched for the nodes of a run, and
	// subtreeNodes about the nodes of each: for a standard error of some 4%.
	nodeSearches = 100
	subtreeNodes = 1000
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
// Runs are evenly spread over the estimated work of all classes, and within each class. Their time
// per node, times the number of nodes, is the cost: a ratio estimate. Random probes estimate the
// nodes of each run.
//
// References: W. G. Cochran, "Sampling Techniques", 3rd ed., Wiley 1977, chapter 6.
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
	s := sampler{trees: t, pools: pools, runs: int64(max(enoughRuns, enoughPerThread*threads))}
	before, _ := ran()
	var observations []observation
	var counted time.Duration // of all threads
	err = count.Each(ctx, k, threads, s.tasks(time.Now().Add(budget)), func(c count.Counted) error {
		counted += c.Elapsed
		observations = append(observations, observation{number: int64(c.Task.ID), seconds: c.Elapsed.Seconds()})
		return nil
	})
	if err != nil {
		return Cost{}, err
	}
	after, known := ran()
	err = inParallel(ctx, threads, len(observations), func(_ context.Context, i int) error {
		s.setNodes(&observations[i])
		return nil
	})
	if err != nil {
		return Cost{}, err
	}
	cost := s.cost(observations)
	if cost.CPUShare = 1; known && cost.Seconds > 0 {
		cost.CPUShare = min(1, float64(after-before)/float64(counted))
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
		var pulse atomic.Uint64
		start := time.Now()
		if _, err := c.Count(ctx, &plan.Board, prefixes, &pulse); err != nil {
			return 0, err
		}
		elapsed := time.Since(start)
		if elapsed >= calibrationTime || plan == plans[largest] {
			nodes = t.taskNodes(largest, &plan) * float64(runTime) / float64(max(elapsed, 1))
			return math.Exp2(math.Round(math.Log2(nodes))), nil
		}
	}
}

// sampler hands out the runs of the sample. A run depends on its number and the size of runs only.
type sampler struct {
	trees *TreeEstimate
	pools []pool
	runs  int64 // number of runs that is enough
}

// observation is a run that was counted.
type observation struct {
	number         int64
	seconds, nodes float64
	stands         float64 // number of runs that it stands for
}

// tasks yields the runs, with their numbers as ids, until there are enough, or until the deadline has passed
// and there are minObservations.
func (s *sampler) tasks(deadline time.Time) iter.Seq[queens.Task] {
	return func(yield func(queens.Task) bool) {
		for number := range s.runs {
			if number >= minObservations && !time.Now().Before(deadline) {
				return
			}
			class, prefixes, _ := s.run(number)
			if len(prefixes) > 0 && !yield(queens.Task{ID: uint64(number), Board: s.pools[class].plan.Board, Prefixes: prefixes}) {
				return
			}
		}
	}
}

// run returns the run of a number: its class, its prefixes, and the number of such runs in the class.
func (s *sampler) run(number int64) (class int, prefixes []queens.Prefix, inClass float64) {
	class, position := s.trees.at(position(number))
	prefixes, inClass = s.pools[class].run(position)
	return class, prefixes, inClass
}

// setNodes estimates the nodes of a run, in about a millisecond, and sets for how many it stands.
func (s *sampler) setNodes(o *observation) {
	class, prefixes, inClass := s.run(o.number)
	o.stands = inClass / s.trees.workShares[class]
	plan := &s.pools[class].plan
	depth := s.trees.Profiles[class].Depth(plan.Depth, plan.Board.N, subtreeNodes)
	o.nodes = float64(len(prefixes)) * estimateNodes(&plan.Board, prefixes, depth, nodeSearches, rand.NewPCG(1, uint64(o.number)))
}

// cost returns the time of all nodes. Its standard error is that of independent runs: an upper bound,
// because runs are evenly spread.
func (s *sampler) cost(observations []observation) (c Cost) {
	var all, seconds, nodes, squares float64
	for i := range s.pools {
		all += s.trees.Profiles[i].NodesBelow(s.pools[i].plan.Depth)
	}
	for _, o := range observations {
		seconds += o.seconds * o.stands
		nodes += o.nodes * o.stands
	}
	if seconds == 0 {
		return Cost{}
	}
	for _, o := range observations {
		off := (o.seconds/seconds - o.nodes/nodes) * o.stands
		squares += off * off
	}
	n := float64(len(observations))
	return Cost{Seconds: all * seconds / nodes, Error: math.Sqrt(squares * n / max(n-1, 1))}
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
