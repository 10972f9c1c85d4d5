// Package estimate predicts what a count will take before it starts: how long, in how many tasks,
// and about how many solutions. It makes random probes of the search tree and counts a sample of
// prefixes with the kernel that will do the work. It does not use the published totals, starts no
// server and writes nothing.
//
// docs/estimates.md explains the method and compares estimates with real counts.
package estimate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// Job says which count to estimate, and how.
type Job struct {
	N      int
	Kernel kernel.Kernel
	// Workers is the number of workers that will count, at least 1, and WorkerThreads the number of
	// threads of each, 1 if it is 0. Together they have at most [MaxThreads], each on a core like
	// those of this machine.
	Workers, WorkerThreads int
	// Threads is the number of threads of the estimate itself, 1 to those of the workers. It should be the number
	// of cores, so that the sample shows what they share.
	Threads int
	// Speed is the number of nodes of the plain search tree that a thread searches a second; 0 to
	// measure it. With a speed, the estimate is the same on every machine.
	Speed float64
	// Copies is how often each task is counted in the mean; less than 1 is once.
	Copies float64
	// CPUClock measures the CPU time of this process; nil selects the clock of the system.
	CPUClock CPUClock
}

// MaxSpeed bounds the speed of a thread, in nodes a second.
const MaxSpeed = 1e15

// MaxThreads is the greatest number of threads of all workers of an estimate.
const MaxThreads = 1_000_000

// CPUClock returns the CPU time of all threads of a process so far, and whether it is known.
type CPUClock func() (ran time.Duration, known bool)

// Validate reports the first thing wrong with the job.
func (j *Job) Validate() error {
	if err := queens.ValidateN(j.N); err != nil {
		return err
	}
	if j.Workers < 1 || j.WorkerThreads < 0 || j.Workers > MaxThreads || j.fleetThreads() > MaxThreads {
		return fmt.Errorf("an estimate is for 1 to %d threads, not for %d workers of %d", MaxThreads, j.Workers, j.WorkerThreads)
	}
	if !(j.Speed >= 0 && j.Speed <= MaxSpeed) {
		return fmt.Errorf("a thread searches 0 to %g nodes a second, not %g", MaxSpeed, j.Speed)
	}
	if all := j.fleetThreads(); j.Threads < 1 || j.Threads > all {
		return fmt.Errorf("an estimate for %d threads takes 1 to %d, not %d", all, all, j.Threads)
	}
	return nil
}

// fleetThreads returns the number of threads of all workers.
func (j *Job) fleetThreads() int { return j.Workers * max(j.WorkerThreads, 1) }

// Range is an estimate: the true value is most likely about Mid, and rarely outside Low to High.
type Range struct {
	Low  float64 `json:"low"`  // almost surely not less
	Mid  float64 `json:"mid"`  // probable
	High float64 `json:"high"` // almost surely not more
}

// Solutions is an estimated number of solutions, from random probes alone, with its 95% confidence
// interval.
type Solutions struct {
	Mean   float64 `json:"mean"`   // of the probes
	Low    float64 `json:"low"`    // of the 95% confidence interval
	High   float64 `json:"high"`   // of the same
	Probes int     `json:"probes"` // number of random probes
}

// Depth bounds the numbers of rows of the tasks' prefixes. It is zero if there are no tasks.
type Depth struct {
	Min int `json:"min"` // least
	Max int `json:"max"` // most
}

// Estimate is what a count is expected to take, with the full symmetry and tasks of the default size.
type Estimate struct {
	N           int    `json:"n"`            // side of the board
	Kernel      string `json:"kernel"`       // that searches
	Workers     int    `json:"machines"`     // that the estimate is for, a worker each
	Threads     int    `json:"threads"`      // of all machines
	Seconds     Range  `json:"seconds"`      // time of the whole command
	CoreSeconds Range  `json:"core_seconds"` // time of the searches, summed over all workers
	// energy of the searches in kilowatt-hours, with --watts-per-thread; the caller of [Run] sets it
	KWh       *Range    `json:"kwh,omitempty"`
	Speed     float64   `json:"speed"`     // nodes of the plain search tree that a thread searches a second
	Solutions Solutions `json:"solutions"` // estimated number of solutions
	// number of tasks; exact up to about n = 22, otherwise within a few percent
	Tasks uint64 `json:"tasks"`
	Depth Depth  `json:"depth"` // rows of the tasks' prefixes, which differ by class
	// size of the ledger when all tasks are counted; the caller of [Run] sets it
	LedgerBytes uint64 `json:"ledger_bytes"`
	// how often each task is counted in the mean, if more than once: all but "solutions", "tasks" and "depth" is for that
	Copies float64 `json:"copies,omitempty"`
	Fleet
}

// Run makes the estimate. It takes about two seconds, less where the count itself takes less. If ctx
// ends, Run returns its cause.
func Run(ctx context.Context, job Job) (Estimate, error) {
	if err := job.Validate(); err != nil {
		return Estimate{}, err
	}
	classes, err := symmetry.Classes(job.N, queens.Full)
	if err != nil {
		return Estimate{}, err
	}
	if job.CPUClock == nil {
		job.CPUClock = processTime
	}
	plans := split.PlanSizes(classes)
	trees, err := Probe(ctx, classes, DefaultProbes, 0, job.Threads)
	if err != nil {
		return Estimate{}, err
	}
	tasks, err := trees.tasks(ctx, plans)
	if err != nil {
		return Estimate{}, err
	}
	cost, err := trees.cost(ctx, plans, &job)
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{
		N: job.N, Kernel: job.Kernel.Name, Workers: job.Workers, Threads: job.fleetThreads(),
		Speed: trees.nodes() / max(cost.Seconds, math.SmallestNonzeroFloat64), Solutions: trees.Solutions, Tasks: tasks.number,
	}
	if job.Copies > 1 {
		e.Copies = job.Copies
		cost.Seconds *= job.Copies
	}
	e.Fleet = trees.fleet(plans, &tasks, cost.Seconds, &job)
	e.Seconds, e.CoreSeconds = wallTime(cost, &e.Fleet, e.Threads), cost.interval()
	for i := range plans {
		if trees.Profiles[i][plans[i].Depth] > 0 {
			e.Depth.Min = min(cmp.Or(e.Depth.Min, plans[i].Depth), plans[i].Depth)
			e.Depth.Max = max(e.Depth.Max, plans[i].Depth)
		}
	}
	return e, nil
}

// cost returns what the searches take.
func (t *TreeEstimate) cost(ctx context.Context, plans []queens.ClassPlan, job *Job) (Cost, error) {
	if job.Speed > 0 {
		return Cost{Seconds: t.nodes() / job.Speed, CPUShare: 1}, nil
	}
	return t.Search(ctx, job.Kernel, plans, job.Threads, job.CPUClock)
}

// nodes returns the number of nodes of all search trees.
func (t *TreeEstimate) nodes() float64 {
	var nodes float64
	for i := range t.Profiles {
		nodes += t.Profiles[i].NodesBelow(0)
	}
	return nodes
}

// maxEnumerated is the greatest number of prefixes that are counted one by one, in about 30 ms;
// beyond it the profile gives their number.
const maxEnumerated = 2 << 20

// taskSet describes the tasks of a count, or all their copies.
type taskSet struct {
	number   uint64
	perClass []uint64
	prefixes float64
}

// tasks counts the tasks of a plan.
func (t *TreeEstimate) tasks(ctx context.Context, plans []queens.ClassPlan) (taskSet, error) {
	set := taskSet{perClass: make([]uint64, len(plans))}
	for i, plan := range plans {
		set.prefixes += t.Profiles[i][plan.Depth]
	}
	exact := set.prefixes <= maxEnumerated
	for i, plan := range plans {
		set.perClass[i] = uint64(math.Ceil(t.Profiles[i][plan.Depth] / float64(plan.Batch)))
		if exact {
			index, err := split.NewIndex(ctx, &queens.Manifest{Classes: plans[i : i+1]})
			if err != nil {
				return taskSet{}, err
			}
			set.perClass[i] = index.Tasks()
		}
		set.number += set.perClass[i]
	}
	return set, nil
}

// times returns that number of copies of the tasks, at least one of each.
func (s *taskSet) times(copies float64) *taskSet {
	copies = max(copies, 1)
	all := taskSet{perClass: make([]uint64, len(s.perClass)), prefixes: s.prefixes * copies}
	for i, tasks := range s.perClass {
		all.perClass[i] = uint64(math.Round(float64(tasks) * copies))
		all.number += all.perClass[i]
	}
	return &all
}
