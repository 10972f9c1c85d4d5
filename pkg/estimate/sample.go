package estimate

import (
	"context"
	"iter"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

const (
	// treeProbes is the number of random probes of each class. starts is the number of random
	// probes of each class that look for prefixes with which runs of the [sampler] may begin.
	treeProbes = 1 << 14
	starts     = 1 << 9
	// runNodes is about the greatest number of nodes of a run. Up to n = 22, a whole task has no
	// more.
	runNodes = 1.5e9
	// The sample has at least minRuns runs for each thread. After these, runs begin until the
	// budget of time is spent or there are mostRuns runs.
	budget   = 1200 * time.Millisecond
	minRuns  = 4
	mostRuns = 256
	// The number of nodes of a run is estimated from that of random subtrees, each of about
	// subtreeNodes nodes: the standard error is about 4%.
	subtrees     = 100
	subtreeNodes = 1000
)

// stratum is a class to sample from.
type stratum struct {
	plan    queens.ClassPlan // says how runs are made: like tasks, or with deeper prefixes
	profile split.Profile
	share   float64 // the share of this class in the nodes of all classes
	tasks   float64
	// Each path has the columns of the queens of a prefix with which a run may begin. A prefix that
	// a random probe finds represents a number of prefixes: the product of the numbers of choices
	// on the way to it. products[i] is the sum of these products for paths[:i+1].
	paths    [][]byte
	products []float64
}

// sampler makes the runs of a sample. Here a run is a task, or a part of a task that would take too
// long. A run has consecutive prefixes, because a kernel shares work among them. Runs are evenly
// spread over the estimated work of all classes, and over each class.
//
// References: [Knuth] D. E. Knuth, "Estimating the efficiency of backtrack programs", Mathematics
// of Computation 29 (1975), 121-136; [Cochran] W. G. Cochran, "Sampling Techniques", 3rd ed., Wiley
// 1977, chapter 6, on estimates of a ratio.
type sampler struct {
	strata       []stratum
	nodes, tasks float64 // sums over all classes
}

// newSampler probes the classes.
func newSampler(plans []queens.ClassPlan) *sampler {
	s := &sampler{strata: parallel.Map(plans, newStratum)}
	for i := range s.strata {
		s.nodes += s.strata[i].profile.NodesBelow(0)
		s.tasks += s.strata[i].tasks
	}
	for i := range s.strata {
		s.strata[i].share = s.strata[i].profile.NodesBelow(0) / s.nodes
	}
	return s
}

// newStratum probes a class.
func newStratum(plan queens.ClassPlan) stratum {
	c := stratum{plan: plan, profile: split.Probe(plan.Board, treeProbes)}
	c.tasks = math.Ceil(c.profile[plan.Depth] / float64(plan.Batch))
	c.plan.Depth = c.profile.Depth(plan.Depth, plan.Board.N, runNodes)
	each := c.profile.NodesBelow(c.plan.Depth) / max(c.profile[c.plan.Depth], 1)
	c.plan.Batch = int(min(max(runNodes/max(each, 1), 1), float64(plan.Batch)))
	c.findPaths(rand.NewPCG(1, uint64(plan.Board.N)))
	return c
}

// findPaths finds the paths with which runs may begin, in lexicographic order.
func (c *stratum) findPaths(source *rand.PCG) {
	products := map[string]float64{}
	for range starts {
		path, cols := []byte{}, uint32(0)
		for p, product := range split.Descend(&c.plan.Board, queens.Prefix{}, source) {
			if p.Row > 0 {
				path = append(path, byte(bits.TrailingZeros32(p.Cols&^cols)))
			}
			cols = p.Cols
			if p.Row == c.plan.Depth {
				products[string(path)] += product
				break
			}
		}
	}
	sum := 0.0
	for path := range products {
		c.paths = append(c.paths, []byte(path))
	}
	slices.SortFunc(c.paths, slices.Compare)
	for _, path := range c.paths {
		sum += products[string(path)]
		c.products = append(c.products, sum)
	}
}

// run returns the class and the prefixes of the run with the given number. There are no prefixes if
// the probes found none. The position of a run in the work is its number times the golden ratio,
// modulo 1: such positions are evenly spread.
func (s *sampler) run(number uint64) (c *stratum, prefixes []queens.Prefix) {
	_, position := math.Modf(float64(number) * math.Phi)
	for i := range s.strata {
		c = &s.strata[i]
		if position < c.share {
			break
		}
		position -= c.share
	}
	if len(c.paths) == 0 {
		return c, nil
	}
	last := len(c.paths) - 1
	at := sort.SearchFloat64s(c.products, min(position/c.share, 1)*c.products[last])
	return c, split.Batch(&c.plan, c.paths[min(at, last)])
}

// measure counts runs on the given number of threads. It returns the time of a node in seconds, and
// the relative standard error of this time.
func (s *sampler) measure(
	ctx context.Context, k kernel.Kernel, threads int,
) (perNode, deviation float64, err error) {
	type observation struct{ seconds, nodes, stands float64 }
	var all []observation
	var seconds, nodes float64
	runs := s.runs(time.Now().Add(budget), uint64(minRuns*threads))
	err = count.Each(ctx, count.Kernels{Prefixes: k}, threads, new(atomic.Uint64), runs,
		func(number uint64, counted queens.TaskCount) error {
			c, prefixes := s.run(number)
			o := observation{seconds: counted.Elapsed.Seconds(),
				stands: c.profile[c.plan.Depth] / float64(len(prefixes)) / c.share}
			o.nodes = c.estimateNodes(prefixes, rand.NewPCG(1, number))
			seconds, nodes = seconds+o.seconds*o.stands, nodes+o.nodes*o.stands
			all = append(all, o)
			return nil
		})
	if err != nil || seconds == 0 {
		return 0, 0, err
	}
	squares := 0.0
	for _, o := range all {
		off := (o.seconds/seconds - o.nodes/nodes) * o.stands
		squares += off * off
	}
	n := float64(len(all))
	return seconds / nodes, math.Sqrt(squares * n / max(n-1, 1)), nil
}

// deviceDeviation is the relative standard error of the time of a node on a device. The times of
// single runs, which would give it, are unknown.
const deviceDeviation = 0.05

// measureDevices does what measure does, on devices that count many tasks at once. A sample that is
// too small leaves them idle for most of its time. So each sample is eight times as large as the
// one before, until one takes half of the budget, or has mostRuns runs for each device. The last
// one gives the time of a node.
func (s *sampler) measureDevices(
	ctx context.Context, k kernel.Kernel, devices int,
) (perNode, deviation float64, err error) {
	for each := minRuns; ; each *= 8 {
		k.AtOnce = each
		var seconds, nodes float64
		runs := s.runs(time.Time{}, uint64(each*devices))
		add := func(number uint64, counted queens.TaskCount) error {
			c, prefixes := s.run(number)
			seconds += counted.Elapsed.Seconds()
			nodes += c.estimateNodes(prefixes, rand.NewPCG(1, number))
			return nil
		}
		err := count.Each(ctx, count.Kernels{Prefixes: k}, devices, new(atomic.Uint64), runs, add)
		if err != nil || nodes == 0 {
			return 0, 0, err
		}
		if seconds >= budget.Seconds()/2*float64(devices) || each >= mostRuns {
			return seconds / nodes, deviceDeviation, nil
		}
	}
}

// runs yields runs with their numbers: all with a number below the parameter least, and later ones
// until the deadline, up to mostRuns.
func (s *sampler) runs(deadline time.Time, least uint64) iter.Seq2[uint64, queens.Task] {
	return func(yield func(uint64, queens.Task) bool) {
		if s.nodes == 0 {
			return
		}
		for number := range max(mostRuns, least) {
			if number >= least && !time.Now().Before(deadline) {
				return
			}
			c, prefixes := s.run(number)
			if len(prefixes) > 0 && !yield(number, queens.Task{Board: c.plan.Board, Prefixes: prefixes}) {
				return
			}
		}
	}
}

// estimateNodes estimates the number of nodes below the prefixes of a run, including the prefixes.
// Random probes choose subtrees, and the nodes of these subtrees are counted.
func (c *stratum) estimateNodes(run []queens.Prefix, source *rand.PCG) float64 {
	b := &c.plan.Board
	depth := c.profile.Depth(c.plan.Depth, b.N, subtreeNodes)
	var sum float64
	for i := range subtrees {
		for p, weight := range split.Descend(b, run[i*len(run)/subtrees], source) {
			if p.Row >= depth {
				sum += weight * float64(countNodes(b, p))
				break
			}
			sum += weight
		}
	}
	return sum / subtrees * float64(len(run))
}

// countNodes returns the number of nodes of the search tree of a prefix, including the prefix.
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
