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
	// minTasks is the least number of tasks in a run that has enough nodes for so many.
	minTasks = 256
	// leftTasks limits the cost of a task to 1/leftTasks of the work that is left in the run, so that
	// all threads end at about the same time. Earlier tasks are larger: for each task, kernels place
	// the queens of the outer columns again. If all tasks were as small as the last ones, a count
	// would take a sixth longer.
	leftTasks = 128
	// lastTaskNodes is the cost of the last tasks, unless 1/minTasks of the run is less, or 1/maxTasks
	// of the run is more.
	lastTaskNodes = 2.4e8
	// firstTaskNodes is the greatest cost of a task up to n = 22. From n = 22 on, the greatest cost
	// doubles with each side, up to maxTaskNodes: runs of large sides last longer, and have enough
	// tasks for any number of machines.
	firstTaskNodes = 1.5e9
	// maxTaskNodes is the greatest cost of a task, unless the run would then have more than maxTasks.
	// Such a task takes at most a core-second: much longer than a round trip, but little work if it is
	// lost.
	maxTaskNodes = 4e9
	// minTaskNodes is the least cost of a task, about one millisecond of work.
	minTaskNodes = 4e6
	// maxTasks is about the greatest number of tasks that PlanSizes plans. One pass over 1e7 tasks
	// takes less than a minute.
	maxTasks = 1e7
)

const (
	// minBatch is the least number of prefixes in a task, if there are enough. The costs of single
	// prefixes differ more than the costs of batches.
	minBatch = 8
	// minDepth is the least depth if n > 1: a prefix of one row may be the whole class.
	minDepth = 2
)

// probesFor returns the number of random probes for a class of side n. Small boards, whose whole
// run takes milliseconds, need few. Large boards need many, because thousands of threads get chunks
// of estimated size.
func probesFor(n int) int { return 1 << min(max(n-10, 6), 12) }

// PlanSizes chooses depth and batch for each class, as [Plan] does. It numbers no tasks: First
// is 0 in each plan.
func PlanSizes(classes []queens.Class) []queens.ClassPlan {
	profiles := parallel.Map(classes, func(c queens.Class) Profile {
		return Probe(c.Board, probesFor(c.Board.N))
	})
	nodes := 0.0
	for i := range profiles {
		nodes += profiles[i].NodesBelow(0)
	}
	plans := make([]queens.ClassPlan, len(classes))
	rest := nodes // in this class and the classes after it
	for i, class := range classes {
		here := profiles[i].NodesBelow(0)
		target := taskNodes(class.Board.N, nodes, rest-here/2)
		rest -= here
		depth := profiles[i].Depth(min(minDepth, class.Board.N), class.Board.N, target/minBatch)
		plans[i] = queens.ClassPlan{Class: class, Depth: depth, Batch: profiles[i].batch(depth, target)}
	}
	return plans
}

// taskNodes returns the intended cost of a task on a board of side n. The parameter run is the
// number of nodes in the run. The parameter left is the number of nodes that are still to be
// searched.
func taskNodes(n int, run, left float64) float64 {
	most := min(math.Ldexp(firstTaskNodes, max(n-22, 0)), maxTaskNodes, run/minTasks)
	least := min(lastTaskNodes, most)
	return max(min(max(left/leftTasks, least), most), run/maxTasks, minTaskNodes)
}

// Depth returns the least depth, from the given one on, at which the mean cost of a prefix, in
// nodes, is at most the parameter target. The board has side n. If there is no such depth, it
// returns the greatest depth that the probes reached.
func (p *Profile) Depth(depth, n int, target float64) int {
	for depth < n && p[depth+1] > 0 && p.NodesBelow(depth) > target*p[depth] {
		depth++
	}
	return depth
}

// batch returns how many prefixes of the given depth make a task whose mean cost, in nodes, is
// about the parameter target: 1 to [queens.MaxBatch].
func (p *Profile) batch(depth int, target float64) int {
	each := p.NodesBelow(depth) / max(p[depth], 1e-9) // 0 if the probes found none
	return int(min(max(target/each, 1), queens.MaxBatch))
}

// Shares returns, for each class of the manifest, the estimated share of one task in the work of
// the whole run. The shares of all tasks add up to 1. No task and no count depends on them.
func Shares(m *queens.Manifest) []float64 {
	shares := parallel.Map(m.Classes, func(c queens.ClassPlan) float64 {
		return methods[m.Method].cost(&c)
	})
	var all float64
	for i, cost := range shares {
		shares[i] = 0
		if tasks := float64(m.TasksOf(i)); tasks > 0 {
			shares[i] = cost/tasks + 1 // every task takes some time
			all += shares[i] * tasks
		}
	}
	for i := range shares {
		shares[i] /= max(all, 1)
	}
	return shares
}

// WorkDone returns the estimated part of a run's work that is done, 0 to 1. The parameter tasks has
// the number of done tasks of each class. WorkDone returns 1 only if all tasks are done. The shares
// come from [Shares]. If they are nil, WorkDone computes them, which takes half a second for large
// boards.
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
