package estimate

import (
	"context"
	"iter"
	"math"
	"sync/atomic"
	"time"

	"nqueens/pkg/count"
	"nqueens/pkg/halves"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// HalvesJob says which count by the method halves to estimate, and how.
type HalvesJob struct {
	N       int
	Kernel  halves.Kernel
	Threads int // of the count, at least 1
	Cores   int // threads of the estimate itself, at least 1
}

// HalvesEstimate says what a count by the method halves is expected to take.
type HalvesEstimate struct {
	N           int           `json:"n"`
	Method      queens.Method `json:"method"`
	Kernel      string        `json:"kernel"`
	RowSets     uint64        `json:"row_sets"`
	Measured    int           `json:"measured_n"`   // side of the board whose row sets were counted
	Sample      int           `json:"sample"`       // row sets that were counted
	CoreSeconds Range         `json:"core_seconds"` // time of the searches, summed over all threads
	Threads     int           `json:"threads"`
	// time of the whole command on that number of threads
	Seconds Range  `json:"seconds"`
	Memory  uint64 `json:"memory_bytes"` // of those threads together
	// time of the whole command on other numbers of threads
	Fleets []Fleet `json:"fleets"`
}

// largestMeasured is the greatest side of a board of which row sets are counted: one takes about 10
// ms.
const largestMeasured = 20

// The time of a row set is taken to grow by the factor grows with each side, by growsLeast at least
// and growsMost at most. With kernel avx2, the mean factor from n = 20 on was 2.8 up to n = 24, and
// 3.6 up to n = 26.
const growsLeast, grows, growsMost = 2.8, 3.4, 4.0

// halvesFleets are the numbers of threads for which an estimate gives the time.
var halvesFleets = []int{64, 1024}

// Halves makes the estimate. It counts row sets for about two seconds. Row sets of a large board
// take too long: then those of a smaller board of the same parity are counted, and the range is
// wide. If ctx ends, Halves returns context.Cause(ctx).
func Halves(ctx context.Context, job HalvesJob) (*HalvesEstimate, error) {
	e := &HalvesEstimate{
		N: job.N, Method: queens.Halves, Kernel: queens.HalvesPrefix + job.Kernel.Name,
		RowSets: halves.Sets(job.N), Measured: job.N, Threads: job.Threads,
	}
	e.Memory, _, _ = count.NewMemory(0, job.Threads).Of(job.N)
	for e.Measured > largestMeasured {
		e.Measured -= 2
	}
	mean, deviation, err := e.measure(ctx, job)
	if err != nil {
		return nil, err
	}
	spread := 1 + variation + 2*deviation
	all, further := mean*float64(e.RowSets), float64(e.N-e.Measured)
	e.CoreSeconds = Range{
		all * math.Pow(growsLeast, further) / spread,
		all * math.Pow(grows, further),
		all * math.Pow(growsMost, further) * spread,
	}
	threads := float64(e.Threads)
	e.Seconds = Range{
		aside.Low + e.CoreSeconds.Low/threads, aside.Mid + e.CoreSeconds.Mid/threads,
		aside.High + e.CoreSeconds.High/threads,
	}
	for _, threads := range halvesFleets {
		e.Fleets = append(e.Fleets, Fleet{threads, aside.Mid + e.CoreSeconds.Mid/float64(threads)})
	}
	return e, nil
}

// measure counts row sets. It returns the mean time of one in seconds, and its relative standard
// error. Row sets with consecutive numbers are a fair sample.
func (e *HalvesEstimate) measure(
	ctx context.Context, job HalvesJob,
) (mean, deviation float64, err error) {
	by := count.Kernels{Prefixes: kernel.Reference(), Halves: job.Kernel}
	board, sets := queens.FullBoard(e.Measured), halves.Sets(e.Measured)
	deadline := time.Now().Add(budget)
	var tasks iter.Seq2[uint64, queens.Task] = func(yield func(uint64, queens.Task) bool) {
		for number := range sets {
			if number >= uint64(minRuns*job.Cores) && !time.Now().Before(deadline) {
				return
			}
			one := queens.RowSets{First: number, Number: 1}
			if !yield(number, queens.Task{Board: board, Sets: one}) {
				return
			}
		}
	}
	var sum, squares float64
	err = count.Each(ctx, by, job.Cores, new(atomic.Uint64), tasks,
		func(_ uint64, c queens.TaskCount) error {
			seconds := c.Elapsed.Seconds()
			sum, squares = sum+seconds, squares+seconds*seconds
			e.Sample++
			return nil
		})
	if err != nil {
		return 0, 0, err
	}
	n := float64(e.Sample)
	mean = sum / n
	variance := max(squares/n-mean*mean, 0)
	if uint64(e.Sample) == sets { // no sample: all of them
		variance = 0
	}
	return mean, math.Sqrt(variance/n) / mean, nil
}
