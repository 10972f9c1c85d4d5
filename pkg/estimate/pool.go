package estimate

import (
	"context"
	"math"
	"math/rand/v2"
	"sort"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

const (
	// poolPaths is about the number of prefixes where the runs of all random pools begin, and
	// minPoolPaths the least of one class.
	poolPaths    = 1 << 14
	minPoolPaths = 256
	// ownDepth is how many times as large as asked for a run may be so that its prefixes have the
	// depth of the tasks: deeper ones have more columns in common, and less to share.
	ownDepth = 4
)

// pool holds the runs of a class to sample from. A run is a task, or consecutive prefixes as in a
// task where a task takes too long.
type pool struct {
	plan queens.ClassPlan // depth and number of prefixes of the runs
	// index has all runs, if there are few enough prefixes to pass over. It is nil otherwise;
	// then the runs begin with prefixes that random probes found.
	index      *split.Index
	paths      [][]byte
	cumulative []float64 // cumulative[i] is the number of prefixes that paths[:i+1] stand for
	prefixes   float64   // number of prefixes of the class at that depth, estimated
}

// runPlan returns the plan of the runs of a class: its own if its tasks have at most that many nodes, or
// else that of runs with so many nodes.
func (t *TreeEstimate) runPlan(class int, plan queens.ClassPlan, nodes float64) queens.ClassPlan {
	profile := &t.Profiles[class]
	if t.taskNodes(class, &plan) > nodes {
		plan.Depth = profile.Depth(plan.Depth, plan.Board.N, ownDepth*nodes)
		each := profile.NodesBelow(plan.Depth) / max(profile[plan.Depth], 1)
		plan.Batch = int(min(max(math.Round(nodes/each), 1), queens.MaxBatch))
	}
	return plan
}

// taskNodes returns the approximate number of nodes of a task of the plan.
func (t *TreeEstimate) taskNodes(class int, plan *queens.ClassPlan) float64 {
	profile := &t.Profiles[class]
	return float64(plan.Batch) * profile.NodesBelow(plan.Depth) / max(profile[plan.Depth], 1)
}

// pools makes the pools of all classes.
func (t *TreeEstimate) pools(ctx context.Context, plans []queens.ClassPlan, nodes float64, threads int) ([]pool, error) {
	var prefixes float64
	runs := make([]queens.ClassPlan, len(plans))
	for i, plan := range plans {
		runs[i] = t.runPlan(i, plan, nodes)
		prefixes += t.Profiles[i][runs[i].Depth]
	}
	pools := make([]pool, len(plans))
	err := inParallel(ctx, threads, len(plans), func(ctx context.Context, i int) (err error) {
		pools[i], err = t.pool(ctx, i, runs[i], prefixes <= maxEnumerated)
		return err
	})
	return pools, err
}

// pool makes the pool of a class, of all runs or of random ones.
func (t *TreeEstimate) pool(ctx context.Context, class int, plan queens.ClassPlan, all bool) (p pool, err error) {
	p = pool{plan: plan, prefixes: t.Profiles[class][plan.Depth]}
	if all {
		p.index, err = split.NewIndex(ctx, &queens.Manifest{Classes: []queens.ClassPlan{plan}})
		return p, err
	}
	probes := minPoolPaths + int(poolPaths*t.workShares[class])
	paths, products := probePaths(&p.plan.Board, plan.Depth, probes, rand.NewPCG(uint64(probes), uint64(class)))
	var sum float64
	for _, product := range products {
		sum += product
		p.cumulative = append(p.cumulative, sum)
	}
	p.paths = paths
	return p, context.Cause(ctx)
}

// run returns the run at a position of the class, from 0 to 1, and the number of such runs in the class:
// none if the class has no prefixes. The runs at evenly spread positions are equally likely.
func (p *pool) run(position float64) (prefixes []queens.Prefix, inClass float64) {
	if p.index != nil {
		runs := p.index.Tasks()
		task, _ := p.index.Task(min(uint64(position*float64(runs)), max(runs, 1)-1))
		return task.Prefixes, float64(runs)
	}
	if len(p.paths) == 0 {
		return nil, 0
	}
	last := len(p.paths) - 1
	at := sort.SearchFloat64s(p.cumulative, position*p.cumulative[last])
	prefixes = split.Batch(&p.plan, p.paths[min(at, last)])
	return prefixes, p.prefixes / float64(len(prefixes))
}
