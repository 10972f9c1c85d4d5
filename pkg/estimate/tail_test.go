package estimate_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"nqueens/pkg/estimate"
	"nqueens/pkg/schedule"
	"nqueens/pkg/split"
)

// BenchmarkTail simulates how long threads take for the tasks of a run, with costs that are sampled
// from its tasks, and compares that with the time if no thread ever waited. See scripts/tail.
func BenchmarkTail(b *testing.B) {
	const (
		latency   = 0.002 // seconds of a fetch
		longest   = 1.5   // seconds of a chunk
		fastSpeed = 150   // of a thread that fetches a second of its work at once
	)
	sample := make(map[int][]schedule.Class)
	for _, c := range []struct {
		n, threads, fast int
		chunks           string
		schedule.Simulation
	}{
		{20, 64, 0, "a-half", schedule.Simulation{Parts: 2, Longest: longest}},
		{20, 64, 0, "a-quarter", schedule.Simulation{Parts: 4, Longest: longest}},
		{22, 1024, 0, "a-half", schedule.Simulation{Parts: 2, Longest: longest}},
		{22, 1024, 0, "a-quarter", schedule.Simulation{Parts: 4, Longest: longest}},
		{24, 10_000, 0, "a-half", schedule.Simulation{Parts: 2, Longest: longest}},
		{24, 10_000, 0, "a-quarter", schedule.Simulation{Parts: 4, Longest: longest}},
		{26, 100_000, 0, "a-half", schedule.Simulation{Parts: 2, Longest: longest}},
		{26, 100_000, 0, "a-quarter", schedule.Simulation{Parts: 4, Longest: longest}},
		{22, 64, 1, "one-task", schedule.Simulation{Parts: 2}},
		{22, 64, 1, "a-half", schedule.Simulation{Parts: 2, Longest: longest}},
		{22, 64, 1, "a-half,several", schedule.Simulation{Parts: 2, Longest: longest, Several: 1}},
		{22, 64, 1, "a-quarter,several", schedule.Simulation{Parts: 4, Longest: longest, Several: 1}},
	} {
		b.Run(fmt.Sprintf("n=%d/threads=%d+%d/chunks=%s", c.n, c.threads, c.fast, c.chunks), func(b *testing.B) {
			if sample[c.n] == nil {
				sample[c.n] = sampledRun(b, c.n)
			}
			c.Classes, c.Latency = sample[c.n], latency
			c.Speeds = append(schedule.Equal(c.threads), slices.Repeat([]float64{fastSpeed}, c.fast)...)
			var got schedule.Outcome
			for b.Loop() {
				got = c.Run()
			}
			tasks := 0
			for _, class := range c.Classes {
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

// nodesPerSecond is the speed of a thread of speed 1; with fewer, the latency would count less.
const nodesPerSecond = 1e10

// thorough takes a few seconds for each n.
var thorough = estimate.Effort{Tasks: 400, Searches: 300, Nodes: 4000}

// sampledRun returns the tasks of the default split with full symmetry.
func sampledRun(b *testing.B, n int) []schedule.Class {
	b.Helper()
	classes := mustClasses(b, n)
	trees := mustProbe(b, n, estimate.DefaultProbes, 0)
	var nodes float64
	for _, profile := range trees.Profiles {
		nodes += profile.NodesBelow(0)
	}
	run, err := trees.Schedule(b.Context(), split.PlanSizes(classes), nodes/nodesPerSecond, thorough, runtime.GOMAXPROCS(0))
	if err != nil {
		b.Fatal(err)
	}
	return run
}
