package estimate_test

import (
	"fmt"
	"testing"

	"nqueens/pkg/estimate"
	"nqueens/pkg/split"
)

// BenchmarkTail simulates how long threads take for the tasks of a run, and compares that with the time if no thread ever waited. See scripts/tail.
func BenchmarkTail(b *testing.B) {
	const (
		latency = 0.002 // seconds of a fetch
		longest = 1.5   // seconds of a chunk
	)
	classes := make(map[int][]estimate.TaskClass)
	for _, c := range []struct {
		n, parts int
		threads  int
	}{
		{20, 2, 64}, {20, 4, 64}, {22, 2, 1024}, {22, 4, 1024}, {24, 2, 10_000}, {24, 4, 10_000}, {26, 2, 100_000}, {26, 4, 100_000},
	} {
		b.Run(fmt.Sprintf("n=%d/threads=%d/parts=%d", c.n, c.threads, c.parts), func(b *testing.B) {
			if classes[c.n] == nil {
				classes[c.n] = tasksOf(b, c.n)
			}
			s := estimate.Simulation{Classes: classes[c.n], Threads: c.threads, Parts: c.parts, Longest: longest, Latency: latency, Spread: estimate.TaskSpread}
			var got estimate.Outcome
			for b.Loop() {
				got = s.Run()
			}
			tasks := 0
			for _, class := range s.Classes {
				tasks += class.Tasks
			}
			b.ReportMetric(float64(tasks), "tasks")
			b.ReportMetric(float64(got.Chunks), "chunks")
			b.ReportMetric(got.Ideal, "s/ideal")
			b.ReportMetric(got.Took, "s/simulated")
			b.ReportMetric(100*got.Loss(), "%loss")
		})
	}
}

// nodesPerSecond is the speed of a thread; with fewer, the latency would count less.
const nodesPerSecond = 1e10

// tasksOf returns the tasks of the default split with full symmetry.
func tasksOf(b *testing.B, n int) []estimate.TaskClass {
	b.Helper()
	trees := mustProbe(b, n, estimate.DefaultProbes, 0)
	var nodes float64
	for _, profile := range trees.Profiles {
		nodes += profile.NodesBelow(0)
	}
	return trees.TaskClasses(b, split.PlanSizes(mustClasses(b, n)), nodes/nodesPerSecond)
}
