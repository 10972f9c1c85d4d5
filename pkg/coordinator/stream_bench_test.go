//go:build unix

package coordinator_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// BenchmarkStream runs counts of n = 18 whose tasks cost nothing through the server and
// the ledger. It reports how many results are accepted per second, the memory and disk
// used, and the time to open such a ledger again and to audit it.
// See scripts/bench stream.
func BenchmarkStream(b *testing.B) {
	for i, tasks := range []uint64{62_045, 424_889, 2_439_251, 11_439_435} {
		depth := 4 + i
		for _, workers := range []int{1, 2, 10, 100, 1000, 4000} {
			b.Run(fmt.Sprintf("tasks=%d/workers=%d", tasks, workers), func(b *testing.B) {
				for b.Loop() {
					benchStream(b, depth, tasks, workers)
				}
			})
		}
	}
}

func benchStream(b *testing.B, depth int, tasks uint64, workers int) {
	s := newStream(b, 18, depth)
	if s.m.Tasks != tasks {
		b.Fatalf("%d tasks, want %d", s.m.Tasks, tasks)
	}
	var rates []float64
	var before uint64
	s.report = func(p run.Snapshot) {
		rate := float64(p.Done-before) / reportEvery.Seconds()
		before, rates = p.Done, append(rates, rate)
		b.Logf("%v: %d accepted, %.0f a second; heap at most %d MiB", p.Elapsed.Round(time.Second), p.Done, rate, s.heap>>20)
	}
	runtime.GC()
	cpu := cpuTime(b)
	got := s.flow(workers)
	heap, inUse := s.heap, s.inUse
	if got.Total == nil || got.Snapshot.Done != tasks {
		b.Fatalf("the run ended after %d of %d tasks", got.Snapshot.Done, tasks)
	}
	slices.Sort(rates)
	b.ReportMetric(float64(tasks)/s.bus.took.Seconds(), "results/s")
	if len(rates) > 0 {
		b.ReportMetric(rates[len(rates)/2], "median-results/s")
		b.ReportMetric(rates[0], "least-results/s")
	}
	b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/float64(tasks), "cpu-us/task")
	b.ReportMetric(float64(heap)/(1<<20), "heap-MiB")
	b.ReportMetric(float64(inUse)/(1<<20), "heap-in-use-MiB")
	b.ReportMetric(float64(s.queued), "queued")
	b.ReportMetric(float64(s.size)/float64(tasks), "ledger-B/task")
	b.ReportMetric(float64(got.Snapshot.Republished), "repeated")
	s.reopen(b)
}

// reopen measures what a later command does with the ledger.
func (s *stream) reopen(b *testing.B) {
	b.Helper()
	start := time.Now()
	l, err := ledger.Open(b.Context(), s.folder, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(start).Seconds(), "s/open")
	start = time.Now()
	if _, err := audit.Total(b.Context(), l, nil); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(start).Seconds(), "s/audit")
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}
