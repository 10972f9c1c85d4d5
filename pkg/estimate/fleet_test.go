package estimate_test

import (
	"math"
	"testing"

	"nqueens/pkg/estimate"
	"nqueens/pkg/kernel"
	"nqueens/pkg/run"
	"nqueens/pkg/schedule"
	"nqueens/pkg/split"
	"nqueens/pkg/testkit"
)

// speed is that of the threads of docs/dev/benchmarks.md.
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
	for _, c := range testkit.Sample(t, 4, []struct {
		n, workers, threads int
		want                run.Bottleneck
	}{
		{2, 4, 1, run.ByStart}, {3, 1, 1, run.ByStart}, {8, 4, 1, run.ByStart},
		{20, 4, 16, run.BySearch}, {20, 64, 16, run.ByTail}, {20, 62500, 16, run.ByTail},
		{22, 64, 16, run.BySearch}, {22, 6250, 16, run.ByMessages},
	}) {
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
	if low := twice.Parts.Search + twice.Parts.Start; twice.Seconds.Mid < low || twice.Seconds.Mid > 1.2*low {
		t.Errorf("it takes %v, and its parts are %+v", twice.Seconds, twice.Parts)
	}
}

// Chunks fit into messages and results.
func TestChunksOfASimulation(t *testing.T) {
	plans := split.PlanSizes(mustClasses(t, 18))
	var all float64
	for i, c := range mustProbe(t, 18, 1<<12, 0).TaskClasses(t, plans, 5) {
		all += float64(c.Tasks) * c.Mean
		if c.Most < 1 || c.Most > run.MaxChunk || c.Most > 1 && c.Most*plans[i].Batch*schedule.PrefixBytes > schedule.MaxChunkBytes {
			t.Errorf("a chunk of class %d has up to %d tasks of %d prefixes", i, c.Most, plans[i].Batch)
		}
	}
	if math.Abs(all-5) > 0.01 {
		t.Errorf("all tasks cost %v s, want 5", all)
	}
}
