package audit

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// BenchmarkRecount counts random tasks of a run with the kernels of this machine, and again with the kernel that
// a recount takes, unless that is the fastest one. It reports the time of the recounts over that of the
// counts, and the tasks. See scripts/bench recount.
func BenchmarkRecount(b *testing.B) {
	const least = 5 * time.Second // of counting, in each
	for n := 18; n <= 28; n++ {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			m, _ := planned(b, n)
			index, err := split.NewIndex(b.Context(), &m)
			if err != nil {
				b.Fatal(err)
			}
			for _, first := range kernel.Available() {
				again := kernel.Other(n, first.Name)
				if again.Name == kernel.Available()[0].Name {
					continue
				}
				b.Run(first.Name+"="+again.Name, func(b *testing.B) {
					rng := rand.New(rand.NewPCG(uint64(n), 0))
					var took [2]time.Duration
					tasks := 0
					for b.Loop() {
						for began := took[0]; took[0]-began < least; tasks++ {
							task, ok := index.Task(rng.Uint64N(m.Tasks))
							if !ok {
								b.Fatal("no such task")
							}
							counts := [2]uint64{timed(b, first, &task, &took[0]), timed(b, again, &task, &took[1])}
							if counts[0] != counts[1] {
								b.Fatalf("task %d: %s counts %d, %s %d", task.ID, first.Name, counts[0], again.Name, counts[1])
							}
						}
					}
					b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "ratio")
					b.ReportMetric(float64(tasks), "tasks")
				})
			}
		})
	}
}

// timed counts a task, and adds the time of the search.
func timed(b *testing.B, k kernel.Kernel, task *queens.Task, took *time.Duration) (count uint64) {
	err := k.WithCounter(func(c kernel.Counter) (err error) {
		start := time.Now()
		count, err = c.Count(b.Context(), &task.Board, task.Prefixes, new(atomic.Uint64))
		*took += time.Since(start)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return count
}
