package halves_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"nqueens/pkg/halves"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// BenchmarkMethods compares the processor time of a count by halves and by prefixes, on one thread,
// with the kernels of the same name. It counts fixed samples: the row sets with the first numbers,
// and random tasks. Row sets and tasks take turns, so that the machine is equally fast for both. A
// metric is the mean time of a row set or a task, times their number. Each has its standard error
// in percent. The samples from n = 24 on take minutes each.
func BenchmarkMethods(b *testing.B) {
	for _, sample := range []struct{ n, sets, tasks int }{
		{20, 400, 20}, {21, 400, 40}, {22, 400, 40}, {24, 400, 40}, {25, 40, 0}, {26, 24, 8}, {27, 30, 0},
		{28, 20, 0},
	} {
		for _, k := range halves.Available() {
			tasks := sample.tasks
			if k.Name == "generic" {
				tasks = 0 // would take many minutes
			}
			b.Run(fmt.Sprintf("n=%d/kernel=%s", sample.n, k.Name), func(b *testing.B) {
				compare(b, k, sample.n, sample.sets, tasks)
			})
		}
	}
}

// compare counts row sets and tasks of the board of side n with the kernels of the name of k.
func compare(b *testing.B, k halves.Kernel, n, sets, tasks int) {
	runtime.LockOSThread() // because of processorTime
	defer runtime.UnlockOSThread()
	c, err := halves.NewCounter(halves.Config{N: n, Kernel: k})
	if err != nil {
		b.Fatal(err)
	}
	var index *split.Index
	if tasks > 0 {
		index = planned(b, n)
	}
	prefixes, err := kernel.Choose(k.Name)
	if err != nil {
		b.Fatal(err)
	}
	d := kerneltest.NewCounter(b, prefixes)
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for b.Loop() {
		var setTimes, taskTimes []float64
		for i := range max(sets, tasks) {
			if i < sets {
				setTimes = append(setTimes, processorTime(b, func(pulse *atomic.Uint64) (uint64, error) {
					return c.Count(b.Context(), uint64(i), 1, pulse)
				}))
			}
			if i*tasks/sets != (i+1)*tasks/sets {
				task := index.Range(rng.Uint64N(index.Tasks()), 1)[0]
				taskTimes = append(taskTimes, processorTime(b, func(pulse *atomic.Uint64) (uint64, error) {
					return d.Count(b.Context(), &task.Board, task.Prefixes, pulse)
				}))
			}
		}
		report(b, "halves", n, halves.Sets(n), setTimes)
		if tasks > 0 {
			report(b, "prefixes", n, index.Tasks(), taskTimes)
		}
	}
}

// planned returns the tasks of a count by prefixes.
func planned(b *testing.B, n int) *split.Index {
	b.Helper()
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		b.Fatal(err)
	}
	_, index, err := split.Plan(b.Context(), n, queens.Full, classes, 0)
	if err != nil {
		b.Fatal(err)
	}
	return index
}

// processorTime returns the time of this thread that a count takes, in nanoseconds.
func processorTime(b *testing.B, count func(pulse *atomic.Uint64) (uint64, error)) float64 {
	b.Helper()
	now := func() int64 {
		var usage unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
			b.Fatal(err)
		}
		return usage.Utime.Nano() + usage.Stime.Nano()
	}
	start := now()
	if _, err := count(new(atomic.Uint64)); err != nil {
		b.Fatal(err)
	}
	return float64(now() - start)
}

// report reports the time of a count in hours and, if the total is published, that of a solution,
// with the standard error in percent.
func report(b *testing.B, method string, n int, all uint64, times []float64) {
	var sum, squares float64
	for _, t := range times {
		sum += t
	}
	mean := sum / float64(len(times))
	for _, t := range times {
		squares += (t - mean) * (t - mean)
	}
	samples := float64(len(times))
	deviation := math.Sqrt(squares / (samples - 1) / samples)
	b.ReportMetric(mean*float64(all)/3.6e12, method+"-hours")
	b.ReportMetric(100*deviation/mean, method+"-error%")
	if known, isKnown := queens.KnownTotal(n); isKnown {
		total, _ := known.Float64()
		b.ReportMetric(mean*float64(all)/total, method+"-ns/solution")
	}
}
