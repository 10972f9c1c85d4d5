package split

import (
	"math"

	"nqueens/pkg/parallel"
	"nqueens/pkg/queens"
)

// Bounds for the cost of a task, in nodes of the plain search tree. They do not depend on the
// machine, so that the task set is a function of the manifest. A core searches about 4e9 to 1e10
// of these nodes a second.
const (
	// minTasks is the least number of tasks in a run that has enough nodes for them.
	minTasks = 256
	// leftTasks is the least number of tasks in what is left of a run, so that threads end
	// together. Earlier tasks are larger, because kernels place the queens of outer columns again for
	// each task. If all tasks were as small as the last, that would cost a sixth of the time.
	leftTasks = 128
	// lastTaskNodes is the cost of the last tasks, where 1/minTasks of the run is not less.
	lastTaskNodes = 2.4e8
	// firstTaskNodes is the greatest cost of a task up to n = 22. It doubles with each side from
	// there, up to maxTaskNodes: such runs last longer, and their tasks are enough for any fleet.
	firstTaskNodes = 1.5e9
	// maxTaskNodes is the cost of a task from n = 24 on, about one core-second: it hides the
	// round trip, and is cheap to lose.
	maxTaskNodes = 4e9
	// minTaskNodes is the least cost of a task, about one millisecond of work.
	minTaskNodes = 4e6
	// maxTasks is about the greatest number of tasks of a run: one pass over all tasks stays
	// under a minute.
	maxTasks = 1e7
)

const (
	// minBatch is the least number of prefixes in a task, where there are enough: the costs of
	// single prefixes differ more than the costs of batches.
	minBatch = 8
	// minDepth is the least depth, so that a prefix is not the whole board.
	minDepth = 2
)

// probesFor returns the number of random probes for a class of side n: few where a whole run takes
// milliseconds, and many where the estimates have to fit chunks to thousands of threads.
func probesFor(n int) int { return 1 << min(max(n-10, 6), 12) }

// PlanSizes chooses depth and batch for each class, as [Plan] does. It numbers no tasks: First
// is 0 in each plan.
func PlanSizes(classes []queens.Class) []queens.ClassPlan {
	profiles := parallel.Map(classes, func(c queens.Class) Profile { return Probe(c.Board, probesFor(c.Board.N)) })
	nodes := 0.0
	for i := range profiles {
		nodes += profiles[i].NodesBelow(0)
	}
	plans := make([]queens.ClassPlan, len(classes))
	rest := nodes // of the class and all after it
	for i, class := range classes {
		own := profiles[i].NodesBelow(0)
		target := taskNodes(class.Board.N, nodes, rest-own/2)
		rest -= own
		depth := profiles[i].Depth(min(minDepth, class.Board.N), class.Board.N, target/minBatch)
		plans[i] = queens.ClassPlan{Class: class, Depth: depth, Batch: profiles[i].batch(depth, target)}
	}
	return plans
}

// taskNodes returns the cost of a task on a board of side n, in a run of so many nodes, when so
// many are left.
func taskNodes(n int, run, left float64) float64 {
	most := min(math.Ldexp(firstTaskNodes, max(n-22, 0)), maxTaskNodes, run/minTasks)
	least := min(lastTaskNodes, most)
	return max(min(max(left/leftTasks, least), most), run/maxTasks, minTaskNodes)
}

// Depth returns the least depth of a board of side n, from the given one on, whose prefixes cost at most
// target nodes each. If the probes found no such depth, it returns the deepest that they reached.
func (p *Profile) Depth(depth, n int, target float64) int {
	for depth < n && p[depth+1] > 0 && p.NodesBelow(depth) > target*p[depth] {
		depth++
	}
	return depth
}

// batch returns the number of prefixes of the given depth that cost target nodes together.
func (p *Profile) batch(depth int, target float64) int {
	each := p.NodesBelow(depth) / max(p[depth], 1e-9) // 0 if the probes found none
	return int(min(max(target/each, 1), queens.MaxBatch))
}

// Shares returns, for each class of the manifest, the estimated share of one of its tasks in the
// work of the whole run. The shares of all tasks add up to 1. They serve display, forecast and the
// sizes of chunks only.
func Shares(m *queens.Manifest) []float64 {
	shares := parallel.Map(m.Classes, func(c queens.ClassPlan) float64 { return searchCost(&c.Board, c.Depth, probesFor(m.N)) })
	var all float64
	for i, cost := range shares {
		shares[i] = 0
		if tasks := float64(m.TasksOf(i)); tasks > 0 {
			shares[i] = cost/tasks + 1 // each task takes something
			all += shares[i] * tasks
		}
	}
	for i := range shares {
		shares[i] /= max(all, 1)
	}
	return shares
}

// WorkDone returns the share of a run's estimated work in a number of tasks of each class, 0 to 1: 1 if
// and only if these are all tasks. The shares are those of [Shares]; if they are nil, WorkDone computes them,
// which takes half a second for large boards.
func WorkDone(m *queens.Manifest, shares []float64, tasks []uint64) (work float64) {
	var done uint64
	for _, n := range tasks {
		done += n
	}
	if done == m.Tasks {
		return 1
	}
	if shares == nil {
		shares = Shares(m)
	}
	for i, n := range tasks {
		work += float64(n) * shares[i]
	}
	return min(work, math.Nextafter(1, 0)) // the sum of many shares is inexact
}
