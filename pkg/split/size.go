package split

import "nqueens/pkg/queens"

// What a task should cost, in nodes of the plain search tree. Machine speed plays no
// part, so that the task set is a function of the manifest; but the numbers were
// chosen with one in mind, whose fastest kernel does some 5e9 nodes a second a core.
const (
	// coreSecond is what a task costs in a long run: enough that the road there and
	// back is nothing beside it, little enough that a lost one is no loss.
	coreSecond = 4e9
	// share is the least number of tasks in a shorter run, so that the last ones to
	// finish are a small part of it.
	share = 256
	// trifle is what no task should be below: it is over in a millisecond.
	trifle = 4e6
	// crowd is about the greatest number of tasks, whatever the run: going through
	// them all must not take more than a minute.
	crowd = 1e7
)

const (
	// descents is the number of random descents that estimate a class.
	descents = 500
	// minBatch is the number of prefixes that a task should have at least: their
	// costs differ, and together they differ less.
	minBatch = 8
	// minDepth keeps prefixes from being the whole board.
	minDepth = 2
)

// PlanSizes chooses depth and batch for each class, as [Plan] does, and numbers no task: First
// is 0 in each.
func PlanSizes(classes []queens.Class) []queens.ClassPlan {
	profiles := make([]Profile, len(classes))
	var nodes float64
	for i, class := range classes {
		profiles[i] = Probe(class.Board, descents)
		nodes += profiles[i].NodesBelow(0)
	}
	target := max(min(coreSecond, nodes/share), nodes/crowd, trifle)
	plans := make([]queens.ClassPlan, len(classes))
	for i, class := range classes {
		depth := profiles[i].depth(class.Board.N, target/minBatch)
		plans[i] = queens.ClassPlan{Class: class, Depth: depth, Batch: profiles[i].batch(depth, target)}
	}
	return plans
}

// single takes a depth as it is, and makes a task of each prefix.
func single(classes []queens.Class, depth int) []queens.ClassPlan {
	plans := make([]queens.ClassPlan, len(classes))
	for i, class := range classes {
		plans[i] = queens.ClassPlan{Class: class, Depth: depth, Batch: 1}
	}
	return plans
}

// depth returns the least depth, of at least two rows where the board has them, whose
// prefixes cost no more than target nodes each. Where the descents found none so deep,
// it is the deepest that they reached.
func (p *Profile) depth(n int, target float64) int {
	depth := min(minDepth, n)
	for depth < n && p[depth+1] > 0 && p.NodesBelow(depth) > target*p[depth] {
		depth++
	}
	return depth
}

// batch returns the number of prefixes of that depth that cost target nodes together.
func (p *Profile) batch(depth int, target float64) int {
	each := 1.0
	if p[depth] > 0 {
		each = p.NodesBelow(depth) / p[depth]
	}
	return int(min(max(target/each, 1), queens.MaxBatch))
}

// Shares returns, for each class of the manifest, the share that one of its tasks has in
// the work of the whole run, as far as random descents tell: all shares together are 1.
// It is for people who wait; nothing else depends on it.
func Shares(m *queens.Manifest) []float64 {
	shares := make([]float64, len(m.Classes))
	var all float64
	for i, plan := range m.Classes {
		tasks := m.TasksOf(i)
		if tasks == 0 {
			continue
		}
		profile := Probe(plan.Board, descents)
		nodes := max(profile.NodesBelow(plan.Depth), 1)
		all += nodes
		shares[i] = nodes / float64(tasks)
	}
	for i := range shares {
		shares[i] /= max(all, 1)
	}
	return shares
}
