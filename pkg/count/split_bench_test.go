package count_test

import (
	"fmt"
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

// BenchmarkSplit measures how much longer the fastest kernel takes because a count is split into
// tasks: the time of all tasks of the default split, divided by the time of one call per class, on
// one thread. It searches each class in both ways, one right after the other, so that the machine
// is equally fast for both. The reported ratio is the median of the iterations. See scripts/bench
// split.
func BenchmarkSplit(b *testing.B) {
	for _, n := range []int{17, 18, 19} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			classes, err := symmetry.Classes(n, queens.Full)
			if err != nil {
				b.Fatal(err)
			}
			m, index, err := split.Plan(b.Context(), n, queens.Full, classes, 0)
			if err != nil {
				b.Fatal(err)
			}
			cut := make([][]queens.Task, len(classes))
			for _, task := range index.All() {
				class := m.ClassOf(task.ID)
				cut[class] = append(cut[class], task)
			}
			counter := kerneltest.NewCounter(b, kernel.Available()[0])
			timed := func(tasks []queens.Task) (seconds float64, found uint64) {
				start := time.Now()
				for _, task := range tasks {
					n, err := counter.Count(b.Context(), &task.Board, task.Prefixes, new(atomic.Uint64))
					if err != nil {
						b.Fatal(err)
					}
					found += n
				}
				return time.Since(start).Seconds(), found
			}
			var inTasks, inWholes, ratios []float64
			for b.Loop() {
				var one, other float64
				for i, class := range classes {
					whole := []queens.Task{{Board: class.Board, Prefixes: []queens.Prefix{{}}}}
					var took [2]float64
					var found [2]uint64
					for turn := range 2 {
						way := (turn + i + len(ratios)) % 2 // neither way is always the first
						took[way], found[way] = timed([2][]queens.Task{cut[i], whole}[way])
					}
					if found[0] != found[1] {
						b.Fatalf("class %d has %d solutions in tasks, %d in one call", i, found[0], found[1])
					}
					one, other = one+took[0], other+took[1]
				}
				inTasks, inWholes, ratios = append(inTasks, one), append(inWholes, other),
					append(ratios, one/other)
			}
			b.ReportMetric(float64(m.Tasks), "tasks")
			b.ReportMetric(median(inTasks), "s/tasks")
			b.ReportMetric(median(inWholes), "s/classes")
			b.ReportMetric(median(ratios), "tasks/classes")
		})
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
