package count_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// lanesSample is the number of tasks that BenchmarkLanes counts of each side, spread evenly over
// the tasks of the default split.
var lanesSample = map[int]uint64{16: 1000, 17: 1000, 18: 60, 19: 20, 20: 20, 21: 12, 22: 12, 23: 6, 24: 6, 25: 4, 26: 4}

// BenchmarkLanes compares the kernels of each instruction set: in 16-bit lanes, in 32-bit lanes, and
// with the lanes that it chooses. Each task is counted by all three in turn. An iteration is all
// tasks of the sample; times and ratios are medians of the iterations.
func BenchmarkLanes(b *testing.B) {
	for _, k := range kernel.Available() {
		set, narrow := strings.CutSuffix(k.Name, "-16")
		if !narrow {
			continue
		}
		var counters []kernel.Counter
		for _, name := range []string{set + "-16", set + "-32", set} {
			k, err := kernel.Choose(name)
			if err != nil {
				b.Fatal(err)
			}
			counters = append(counters, kerneltest.NewCounter(b, k))
		}
		for _, n := range slices.Sorted(maps.Keys(lanesSample)) {
			b.Run(fmt.Sprintf("%s/n=%d", set, n), func(b *testing.B) { benchmarkLanes(b, n, counters) })
		}
	}
}

func benchmarkLanes(b *testing.B, n int, counters []kernel.Counter) {
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		b.Fatal(err)
	}
	m, err := split.Plan(b.Context(), n, queens.Full, classes, 0)
	if err != nil {
		b.Fatal(err)
	}
	var ids []uint64
	for i := range min(lanesSample[n], m.Tasks) {
		ids = append(ids, (2*i+1)*m.Tasks/(2*min(lanesSample[n], m.Tasks)))
	}
	index, err := split.NewIndex(b.Context(), &m)
	if err != nil {
		b.Fatal(err)
	}
	var seconds [3][]float64
	var narrow, chosen []float64 // ratios to the time in 32-bit lanes
	for b.Loop() {
		var took [3]float64
		for _, id := range ids {
			task, _ := index.Task(id)
			var found [3]uint64
			for turn := range 3 {
				way := (turn + int(task.ID)) % 3 // none is always the first
				start := time.Now()
				if found[way], err = counters[way].Count(b.Context(), &task.Board, task.Prefixes, new(atomic.Uint64)); err != nil {
					b.Fatal(err)
				}
				took[way] += time.Since(start).Seconds()
			}
			if found[0] != found[1] || found[0] != found[2] {
				b.Fatalf("task %d has %d solutions", task.ID, found)
			}
		}
		for way, t := range took {
			seconds[way] = append(seconds[way], t)
		}
		narrow, chosen = append(narrow, took[0]/took[1]), append(chosen, took[2]/took[1])
	}
	b.ReportMetric(float64(len(ids)), "tasks")
	b.ReportMetric(median(seconds[0]), "s/16")
	b.ReportMetric(median(seconds[1]), "s/32")
	b.ReportMetric(median(seconds[2]), "s/chosen")
	b.ReportMetric(median(narrow), "16/32")
	b.ReportMetric(median(chosen), "chosen/32")
}
