package count_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// BenchmarkSizes measures how much longer the fastest kernel takes for small tasks: the time of the
// tasks of the default split, divided by the time of large tasks. A large task has about 1/256 of
// the run's nodes, at most 4e9. The benchmark takes random large tasks, from each class in
// proportion to its nodes. On one thread, it counts the prefixes of each task in both ways, in
// turn. An iteration counts the whole sample in both ways. See scripts/bench sizes.
func BenchmarkSizes(b *testing.B) {
	for _, c := range []struct{ n, sample int }{{18, 100}, {19, 60}, {20, 30}, {21, 20}, {22, 20}} {
		b.Run(fmt.Sprintf("n=%d", c.n), func(b *testing.B) { benchmarkSizes(b, c.n, c.sample) })
	}
}

func benchmarkSizes(b *testing.B, n, sample int) {
	regions := sampleRegions(b, n, sample)
	counter := kerneltest.NewCounter(b, kernel.Available()[0])
	timed := func(tasks []queens.Task) (seconds float64, found uint64) {
		start := time.Now()
		for i := range tasks {
			n, err := counter.Count(b.Context(), &tasks[i].Board, tasks[i].Prefixes, new(atomic.Uint64))
			if err != nil {
				b.Fatal(err)
			}
			found += n
		}
		return time.Since(start).Seconds(), found
	}
	var small, large, ratios []float64
	for b.Loop() {
		var sums [2]float64
		for i, region := range regions {
			var found [2]uint64
			for turn := range 2 {
				way := (turn + i + len(ratios)) % 2 // neither way is always the first
				var took float64
				took, found[way] = timed(region[way])
				sums[way] += took
			}
			if found[0] != found[1] {
				b.Fatalf("region %d has %d solutions in small tasks, %d in a large one", i, found[0], found[1])
			}
		}
		small, large, ratios = append(small, sums[0]), append(large, sums[1]),
			append(ratios, sums[0]/sums[1])
	}
	tasks := 0
	for _, region := range regions {
		tasks += len(region[0])
	}
	b.ReportMetric(float64(len(regions)), "large-tasks")
	b.ReportMetric(float64(tasks), "small-tasks")
	b.ReportMetric(median(large), "s/large")
	b.ReportMetric(median(small), "s/small")
	b.ReportMetric(median(ratios), "small/large")
	b.ReportMetric(slices.Min(ratios), "least")
	b.ReportMetric(slices.Max(ratios), "greatest")
}

// sampleRegions chooses large tasks of a run, and returns each as tasks of the default split and as
// one large task.
func sampleRegions(b *testing.B, n, sample int) (regions [][2][]queens.Task) {
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		b.Fatal(err)
	}
	profiles := make([]split.Profile, len(classes))
	var run float64
	for i, class := range classes {
		profiles[i] = split.Probe(class.Board, 2000)
		run += profiles[i].NodesBelow(0)
	}
	rng := rand.New(rand.NewPCG(18, uint64(n)))
	for i, plan := range split.PlanSizes(classes) {
		large := resized(plan, &profiles[i], min(4e9, run/256))
		index, err := split.NewIndex(b.Context(), queens.Prefixes, []queens.ClassPlan{large},
			queens.MaxTasks)
		if err != nil {
			b.Fatal(err)
		}
		tasks := index.Range(0, int(index.Tasks()))
		share := float64(sample) * profiles[i].NodesBelow(0) / run
		for share += rng.Float64(); share >= 1 && len(tasks) > 0; share-- {
			task := tasks[rng.IntN(len(tasks))]
			var prefixes []queens.Prefix
			for _, p := range task.Prefixes {
				prefixes = appendBelow(prefixes, &task.Board, p, plan.Depth)
			}
			var cut []queens.Task
			for batch := range slices.Chunk(prefixes, plan.Batch) {
				cut = append(cut, queens.Task{Board: task.Board, Prefixes: batch})
			}
			regions = append(regions, [2][]queens.Task{cut, {task}})
		}
	}
	return regions
}

// resized returns the plan with tasks of about the given number of nodes, and of eight or more
// prefixes if possible.
func resized(plan queens.ClassPlan, profile *split.Profile, target float64) queens.ClassPlan {
	// nodes of a prefix
	cost := func() float64 { return profile.NodesBelow(plan.Depth) / profile[plan.Depth] }
	for plan.Depth = 2; 8*cost() > target; {
		plan.Depth++
	}
	plan.Batch = int(min(max(target/cost(), 1), queens.MaxBatch))
	return plan
}

// appendBelow appends the prefixes of the given depth that begin with p.
func appendBelow(to []queens.Prefix, b *queens.Board, p queens.Prefix, depth int) []queens.Prefix {
	if p.Row >= depth {
		return append(to, p)
	}
	for free := p.Free(b); free != 0; free &= free - 1 {
		to = appendBelow(to, b, p.Place(b, free&-free), depth)
	}
	return to
}
