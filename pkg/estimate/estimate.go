// Package estimate predicts how long a count will take. Random probes of the search tree give its
// number of nodes. A sample of the tasks, counted with the kernel of the count, gives the time per
// node. The package starts no server and writes nothing. docs/observe.md explains the estimated
// ranges.
package estimate

import (
	"context"
	"fmt"
	"math"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// Job says which count to estimate, and how.
type Job struct {
	N      int
	Kernel kernel.Kernel
	// Threads is the number of threads of the count, at least 1. The estimate assumes that these
	// threads run on cores like those of this machine. If the kernel runs on devices, Threads and
	// Cores are numbers of devices.
	Threads int
	// Cores is the number of threads of the estimate itself, at least 1. It should be the number of
	// this machine's cores, so that all are busy during the sample, as during a count.
	Cores int
	// Fleets are the numbers of threads for which the estimate gives the time.
	Fleets []int
}

// Range is an estimate. The true value is most likely about Mid, and rarely outside Low to High.
type Range struct {
	Low  float64 `json:"low"`
	Mid  float64 `json:"mid"`
	High float64 `json:"high"`
}

// Fleet is the time of the count on a number of threads.
type Fleet struct {
	Threads int     `json:"threads"`
	Seconds float64 `json:"seconds"`
}

// Estimate says what a count with full symmetry and tasks of the default size is expected to take.
type Estimate struct {
	N           int     `json:"n"`
	Kernel      string  `json:"kernel"`
	Nodes       float64 `json:"nodes"` // nodes of the plain search trees of all classes
	Tasks       float64 `json:"tasks"`
	CoreSeconds Range   `json:"core_seconds"` // time of the searches, summed over all threads
	Threads     int     `json:"threads"`
	Seconds     Range   `json:"seconds"` // time of the whole command on that number of threads
	Fleets      []Fleet `json:"fleets"`  // time of the whole command on other numbers of threads
}

// variation is the share by which the time of a search varies on the same machine.
const variation = 0.15

// aside is the time, in seconds, in which the command does not search: its start and its end.
var aside = Range{0.03, 0.06, 0.1}

// Run makes the estimate. It takes about two seconds, or less if the count itself takes less. If
// ctx ends, Run returns context.Cause(ctx).
func Run(ctx context.Context, job Job) (*Estimate, error) {
	if job.Threads < 1 || job.Cores < 1 {
		return nil, fmt.Errorf("a sample on %d threads for %d threads: both must be at least 1",
			job.Cores, job.Threads)
	}
	classes, err := symmetry.Classes(job.N, queens.Full)
	if err != nil {
		return nil, err
	}
	s := newSampler(split.PlanSizes(classes))
	measure := s.measure
	if job.Kernel.AtOnce > 0 {
		measure = s.measureDevices
	}
	perNode, deviation, err := measure(ctx, job.Kernel, job.Cores)
	if err != nil {
		return nil, err
	}
	spread := 1 + variation + 2*deviation
	core := s.nodes * perNode
	e := &Estimate{
		N: job.N, Kernel: job.Kernel.Name, Nodes: s.nodes, Tasks: s.tasks, Threads: job.Threads,
		CoreSeconds: Range{core / spread, core, core * spread},
	}
	low, mid, high := e.wall(core/spread, job.Threads), e.wall(core, job.Threads),
		e.wall(core*spread, job.Threads)
	e.Seconds = Range{aside.Low + low, aside.Mid + mid, aside.High + high}
	for _, threads := range job.Fleets {
		e.Fleets = append(e.Fleets, Fleet{threads, aside.Mid + e.wall(core, threads)})
	}
	return e, nil
}

// wall returns the time of the search on the given number of threads. The parameter core is the
// time that one core would take, in seconds. At the end, a thread waits for the last tasks of the
// others, about as long as a task takes.
func (e *Estimate) wall(core float64, threads int) float64 {
	wait := core / math.Max(e.Tasks, 1)
	return core/float64(threads) + wait*float64(threads-1)/float64(threads)
}
