package estimate

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"nqueens/pkg/queens"
	"nqueens/pkg/schedule"
	"nqueens/pkg/split"
)

// This file samples how much the tasks of a count differ, for simulations of a fleet.

// effort is how many tasks are sampled to learn how much tasks differ, and how.
type effort struct {
	// Tasks is the number of tasks of all classes together, about.
	Tasks int
	// Searches is the number of subtrees that are searched for the cost of a task, and Nodes about
	// the number of nodes of each.
	Searches int
	Nodes    float64
}

// defaultEffort takes a few tenths of a core-second for any n.
var defaultEffort = effort{Tasks: 256, Searches: 32, Nodes: 1000}

// minSampled is the least number of tasks sampled of a class, where it has so many.
const minSampled = 4

// schedule returns the classes of a simulation of a count with the given plans and tasks, whose
// searches take the given time. How much the tasks of a class differ is sampled, with a fixed seed: the
// classes are the same on every machine but for their time, for any number of threads.
func (t *TreeEstimate) schedule(ctx context.Context, plans []queens.ClassPlan, set *taskSet, seconds float64, e effort, threads int) ([]taskClass, error) {
	m := queens.Manifest{Classes: slices.Clone(plans)}
	for i := range plans {
		m.Classes[i].First = m.Tasks
		m.Tasks += set.perClass[i]
	}
	classes := make([]taskClass, len(plans))
	samples := make([]taskSample, len(plans))
	err := inParallel(ctx, threads, len(plans), func(ctx context.Context, i int) error {
		tasks := int(set.perClass[i])
		number := min(max(int(float64(e.Tasks)*t.workShares[i]), minSampled), tasks)
		var err error
		samples[i], err = t.sampleTasks(ctx, &plans[i], number, e, rand.NewPCG(26, uint64(i)))
		return err
	})
	if err != nil {
		return nil, err
	}
	spread := trueSpread(samples)
	for i, share := range split.Shares(&m) {
		c := &classes[i]
		c.Tasks, c.Estimate = int(set.perClass[i]), share*seconds
		c.Most = max(1, min(schedule.MaxChunkBytes/(schedule.PrefixBytes*plans[i].Batch), queens.MaxChunk))
		mean := t.workShares[i] * seconds / max(float64(c.Tasks), 1)
		for _, relative := range samples[i].relative {
			c.Costs = append(c.Costs, mean*(1+spread*(relative-1)))
		}
	}
	return classes, nil
}

// taskSample is the costs of some tasks of a class, in the order of the class.
type taskSample struct {
	relative []float64 // to their mean
	noise    []float64 // variance of these due to their estimation
}

// trueSpread returns the share of the deviations of the costs from their means that is not due to
// their estimation.
func trueSpread(samples []taskSample) float64 {
	var all, noise float64
	for _, s := range samples {
		if len(s.relative) < 2 {
			continue
		}
		for i, x := range s.relative {
			all += (x - 1) * (x - 1) * float64(len(s.relative)) / float64(len(s.relative)-1)
			noise += s.noise[i]
		}
	}
	return math.Sqrt(max(1-noise/max(all, math.SmallestNonzeroFloat64), 0))
}

// sampleTasks estimates the costs of tasks that begin with prefixes at equal distances, from a random
// start, of those that random probes find.
func (t *TreeEstimate) sampleTasks(ctx context.Context, plan *queens.ClassPlan, number int, e effort, source *rand.PCG) (s taskSample, err error) {
	paths, products := probePaths(&plan.Board, plan.Depth, 8*number, source)
	if len(paths) == 0 {
		return s, nil
	}
	profile := &t.Profiles[slices.IndexFunc(t.classes, func(c queens.Class) bool { return c.Board == plan.Board })]
	depth := depthFor(profile, plan, e.Nodes)
	var whole, sum float64
	for _, product := range products {
		whole += product
	}
	at, passed := 0, products[0]
	for i := range number {
		if ctx.Err() != nil {
			return s, context.Cause(ctx)
		}
		for want := (float64(i) + 0.5) * whole / float64(number); passed < want && at+1 < len(paths); {
			at++
			passed += products[at]
		}
		nodes, variance := estimateNodes(&plan.Board, batchFrom(plan, paths[at]), depth, e.Searches, source)
		s.relative, s.noise = append(s.relative, nodes), append(s.noise, variance)
		sum += nodes
	}
	mean := sum / float64(number)
	for i := range s.relative {
		s.relative[i] /= mean
		s.noise[i] *= s.relative[i] * s.relative[i]
	}
	return s, nil
}

// depthFor returns the least depth, from that of the plan on, whose prefixes have at most that many nodes
// each. If the probes found no such depth, it returns the deepest that they reached.
func depthFor(profile *split.Profile, plan *queens.ClassPlan, nodes float64) int {
	depth := plan.Depth
	for depth < plan.Board.N && profile[depth+1] > 0 && profile.NodesBelow(depth) > nodes*profile[depth] {
		depth++
	}
	return depth
}

// path is the squares of the queens of a prefix, a mask of one bit a row.
type path = [queens.MaxN]uint32

// probePaths returns the prefixes of a depth that random probes find, in lexicographic order, and of
// how many prefixes each is one.
func probePaths(b *queens.Board, depth, probes int, source *rand.PCG) (paths []path, products []float64) {
	type found struct {
		path    path
		product float64
	}
	var all []found
	for range probes {
		f, p := found{product: 1}, queens.Prefix{}
		for p.Row < depth && f.product > 0 {
			next, choices := split.Step(b, p, source)
			f.path[p.Row] = next.Cols &^ p.Cols
			f.product *= float64(choices)
			p = next
		}
		if f.product > 0 {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(x, y found) int { return slices.Compare(x.path[:depth], y.path[:depth]) })
	for _, f := range all {
		paths, products = append(paths, f.path), append(products, f.product)
	}
	return paths, products
}

// batchFrom returns the prefixes of a task that begins with the given one.
func batchFrom(plan *queens.ClassPlan, first path) []queens.Prefix {
	var batch []queens.Prefix
	var descend func(p queens.Prefix, along bool) bool
	descend = func(p queens.Prefix, along bool) bool {
		if p.Row == plan.Depth {
			batch = append(batch, p)
			return len(batch) < plan.Batch
		}
		free := p.Free(&plan.Board)
		if along {
			free &^= first[p.Row] - 1
		}
		for ; free != 0; free &= free - 1 {
			square := free & -free
			if !descend(p.Place(&plan.Board, square), along && square == first[p.Row]) {
				return false
			}
		}
		return true
	}
	descend(queens.Prefix{}, true)
	return batch
}

// estimateNodes estimates the number of nodes in the search trees of the prefixes of a task, as a
// mean of the task's prefixes, and the variance of the estimate relative to its square. Random
// probes choose subtrees at a depth, and their nodes are counted.
func estimateNodes(b *queens.Board, batch []queens.Prefix, depth, searches int, source *rand.PCG) (nodes, variance float64) {
	var sum, squares float64
	for i := range searches {
		p, weight, found := batch[i*len(batch)/searches], 1.0, 0.0
		for p.Row < depth && weight > 0 {
			var choices int
			found += weight
			p, choices = split.Step(b, p, source)
			weight *= float64(choices)
		}
		if weight > 0 {
			found += weight * float64(countNodes(b, p))
		}
		sum, squares = sum+found, squares+found*found
	}
	nodes = sum / float64(searches)
	return nodes, (squares/float64(searches)/(nodes*nodes) - 1) / float64(searches)
}

// countNodes returns the size of the search tree of a prefix, itself included.
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

// perTask returns the mean number of prefixes of a task.
func (s *taskSet) perTask() float64 { return s.prefixes / float64(cmp.Or(s.number, 1)) }
