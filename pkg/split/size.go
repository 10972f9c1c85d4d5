package split

import "nqueens/pkg/queens"

// Bounds for the cost of a task, in nodes of the plain search tree. They do not depend on the
// machine, so that the task set is a function of the manifest. They were chosen for a machine
// whose fastest kernel searches about 5e9 nodes a second on one core.
const (
	// maxTaskNodes is the cost of a task in a long run, about one core-second: it hides the
	// round trip, and is cheap to lose.
	maxTaskNodes = 4e9
	// minTasks is the least number of tasks in a shorter run, so that the tasks that finish
	// last are a small part of it.
	minTasks = 256
	// minTaskNodes is the least cost of a task, about one millisecond of work.
	minTaskNodes = 4e6
	// maxTasks is about the greatest number of tasks of a run: one pass over all tasks stays
	// under a minute.
	maxTasks = 1e7
)

const (
	// probes is the number of random probes for each class.
	probes = 500
	// minBatch is the least number of prefixes in a task, where there are enough: the costs of
	// single prefixes differ more than the costs of batches.
	minBatch = 8
	// minDepth is the least depth, so that a prefix is not the whole board.
	minDepth = 2
)

// PlanSizes chooses depth and batch for each class, as [Plan] does. It numbers no tasks: First
// is 0 in each plan.
func PlanSizes(classes []queens.Class) []queens.ClassPlan {
	profiles := make([]Profile, len(classes))
	var nodes float64
	for i, class := range classes {
		profiles[i] = Probe(class.Board, probes)
		nodes += profiles[i].NodesBelow(0)
	}
	target := max(min(maxTaskNodes, nodes/minTasks), nodes/maxTasks, minTaskNodes)
	plans := make([]queens.ClassPlan, len(classes))
	for i, class := range classes {
		depth := profiles[i].depth(class.Board.N, target/minBatch)
		plans[i] = queens.ClassPlan{Class: class, Depth: depth, Batch: profiles[i].batch(depth, target)}
	}
	return plans
}

// uniformPlans gives every class the same depth, and makes each prefix a task.
func uniformPlans(classes []queens.Class, depth int) []queens.ClassPlan {
	plans := make([]queens.ClassPlan, len(classes))
	for i, class := range classes {
		plans[i] = queens.ClassPlan{Class: class, Depth: depth, Batch: 1}
	}
	return plans
}

// depth returns the least depth, of at least two rows where the board has them, whose prefixes
// cost at most target nodes each. If the probes found no such depth, it returns the deepest
// that they reached.
func (p *Profile) depth(n int, target float64) int {
	depth := min(minDepth, n)
	for depth < n && p[depth+1] > 0 && p.NodesBelow(depth) > target*p[depth] {
		depth++
	}
	return depth
}

// batch returns the number of prefixes of the given depth that cost target nodes together.
func (p *Profile) batch(depth int, target float64) int {
	each := 1.0
	if p[depth] > 0 {
		each = p.NodesBelow(depth) / p[depth]
	}
	return int(min(max(target/each, 1), queens.MaxBatch))
}

// Shares returns, for each class of the manifest, the estimated share of one of its tasks in the
// work of the whole run. The shares of all tasks add up to 1. They serve display and forecast
// only.
func Shares(m *queens.Manifest) []float64 {
	shares := make([]float64, len(m.Classes))
	var all float64
	for i, plan := range m.Classes {
		tasks := m.TasksOf(i)
		if tasks == 0 {
			continue
		}
		profile := Probe(plan.Board, probes)
		nodes := max(profile.NodesBelow(plan.Depth), 1)
		all += nodes
		shares[i] = nodes / float64(tasks)
	}
	for i := range shares {
		shares[i] /= max(all, 1)
	}
	return shares
}
