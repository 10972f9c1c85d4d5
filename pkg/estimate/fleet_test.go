package estimate_test

import (
	"math"
	"testing"

	"nqueens/pkg/estimate"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/schedule"
	"nqueens/pkg/split"
)

// speed is that of the threads of docs/scale.md.
const speed = 1e10

func mustEstimate(t *testing.T, n, workers, threads int) estimate.Estimate {
	t.Helper()
	return mustRun(t, estimate.Job{N: n, Kernel: kernel.Available()[0], Workers: workers, WorkerThreads: threads, Threads: 1, Speed: speed})
}

// What bounds a run changes with the number of threads as it should. Rates, times and shares
// agree with each other.
func TestBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates large fleets")
	}
	for _, c := range []struct {
		n, workers, threads int
		want                run.Bottleneck
	}{
		{2, 4, 1, run.ByStart}, {3, 1, 1, run.ByStart}, {8, 4, 1, run.ByStart},
		{20, 4, 16, run.BySearch}, {20, 64, 16, run.ByTail}, {20, 62500, 16, run.ByTail},
		{22, 64, 16, run.BySearch}, {22, 6250, 16, run.ByMessages},
	} {
		e := mustEstimate(t, c.n, c.workers, c.threads)
		f := e.Fleet
		if f.Bottleneck != c.want {
			t.Errorf("n=%d, %d threads: bound by %s, want %s: %+v", c.n, c.workers*c.threads, f.Bottleneck, c.want, f.Parts)
		}
		if !(f.Waiting >= 0 && f.Waiting <= 1) || f.Chunks > float64(e.Tasks) || f.WindowChunks > f.Chunks || f.MessageRate < 9*f.ChunkRate {
			t.Errorf("n=%d: %+v", c.n, f)
		}
		if e.Seconds.Mid < f.Parts.Search+f.Parts.Planning+f.Parts.Start || e.Seconds.Mid < f.Parts.Messages || e.Seconds.Mid < f.Parts.Ledger ||
			e.Seconds.Low > e.Seconds.Mid || e.Seconds.High < e.Seconds.Mid {
			t.Errorf("n=%d: %+v with parts %+v", c.n, e.Seconds, f.Parts)
		}
		// The ledger has a bit and a byte for each task.
		if e.Tasks > 0 && f.CoordinatorBytes < 32<<20+2*1.125*float64(e.Tasks) {
			t.Errorf("n=%d, %d tasks: a coordinator of %.0f bytes", c.n, e.Tasks, f.CoordinatorBytes)
		}
		if math.Abs(e.Speed/speed-1) > 1e-9 && e.Tasks > 0 {
			t.Errorf("n=%d: %v nodes a second", c.n, e.Speed)
		}
	}
}

// Copies of tasks take searches, messages and records of their own. The run is planned and audited once.
func TestCopies(t *testing.T) {
	job := estimate.Job{N: 14, Kernel: kernel.Available()[0], Workers: 4, Threads: 1, Speed: 1e8}
	once := mustRun(t, job)
	job.Copies = 2
	twice := mustRun(t, job)
	type figures struct{ core, search, ledger, planning, start, tasks float64 }
	of := func(e *estimate.Estimate) figures {
		p := &e.Parts
		return figures{e.CoreSeconds.Mid, p.Search, p.Ledger, p.Planning, p.Start, float64(e.Tasks)}
	}
	want := of(&once)
	want.core, want.search, want.ledger = 2*want.core, 2*want.search, 2*want.ledger
	if got := of(&twice); got != want || twice.Copies != 2 || once.Copies != 0 || twice.Chunks <= once.Chunks {
		t.Errorf("counting each task twice takes %+v in %v chunks, want %+v and more than %v chunks", got, twice.Chunks, want, once.Chunks)
	}
	if low := twice.Parts.Search + twice.Parts.Start; twice.Seconds.Mid < low || twice.Seconds.Mid > 1.1*low {
		t.Errorf("it takes %v, and its parts are %+v", twice.Seconds, twice.Parts)
	}
}

// The tasks of a simulation differ as much as those of the run.
func TestTaskCosts(t *testing.T) {
	const n, searches = 14, 64
	classes := mustClasses(t, n)
	plans := split.PlanSizes(classes)
	trees := mustProbe(t, n, estimate.DefaultProbes, 0)
	simulated, err := trees.Schedule(t.Context(), plans, 1, estimate.Effort{Tasks: 2000, Searches: searches, Nodes: 100}, 2)
	if err != nil {
		t.Fatal(err)
	}
	var all, work float64
	for _, c := range simulated {
		all += float64(c.Tasks) * c.Estimate
		work += float64(c.Tasks) * mean(c.Costs)
	}
	if math.Abs(all-1) > 0.01 || math.Abs(work-1) > 0.05 {
		t.Errorf("all tasks cost %v, estimated to be %v, want 1", work, all)
	}
	var got, want, tasks float64
	for i, plan := range plans {
		var costs []float64
		for task := range split.ClassTasks(plan) {
			var nodes float64
			for _, p := range task.Prefixes {
				for rows := p.Row; rows <= n; rows++ {
					nodes += float64(below(&task.Board, p, rows))
				}
			}
			costs = append(costs, nodes)
		}
		if len(costs) != simulated[i].Tasks {
			t.Fatalf("class %d has %d tasks, want %d", i, simulated[i].Tasks, len(costs))
		}
		if len(costs) < 4 {
			continue
		}
		costs = costs[:len(costs)-1] // the last has fewer prefixes
		got += spread(simulated[i].Costs) * float64(len(costs))
		want += spread(costs) * float64(len(costs))
		tasks += float64(len(costs))
	}
	if got, want = got/tasks, want/tasks; got < want/1.5 || got > want*1.5 {
		t.Errorf("the relative deviation of costs is %.3f, want about %.3f", got, want)
	}
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}

// spread returns the mean deviation from the mean, relative to the mean.
func spread(values []float64) float64 {
	m, sum := mean(values), 0.0
	for _, v := range values {
		sum += math.Abs(v/m - 1)
	}
	return sum / float64(len(values))
}

// Chunks fit into messages and results.
func TestChunksOfASimulation(t *testing.T) {
	trees := mustProbe(t, 18, 1<<12, 0)
	plans := split.PlanSizes(mustClasses(t, 18))
	classes, err := trees.Schedule(t.Context(), plans, 1, estimate.Effort{Tasks: 4, Searches: 1, Nodes: 10}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range classes {
		if c.Most < 1 || c.Most > queens.MaxChunk || c.Most > 1 && c.Most*plans[i].Batch*schedule.PrefixBytes > schedule.MaxChunkBytes {
			t.Errorf("a chunk of class %d has up to %d tasks of %d prefixes", i, c.Most, plans[i].Batch)
		}
	}
}
