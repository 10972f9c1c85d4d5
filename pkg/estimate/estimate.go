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
	// Workers is the number of workers that will count, at least 1. Each has one thread, on a core
	// like those of this machine.
	Workers int
	// Threads is the number of threads of the estimate itself, 1 to Workers. It should be the number
	// of cores, so that the sample shows what they share.
	Threads int
	// CPUClock measures the CPU time of this process; nil selects the clock of the system.
	CPUClock CPUClock
}

// CPUClock returns the CPU time of all threads of a process so far, and whether it is known.
type CPUClock func() (ran time.Duration, known bool)

// Validate reports the first thing wrong with the job.
func (j *Job) Validate() error {
	if err := queens.ValidateN(j.N); err != nil {
		return err
	}
	if j.Workers < 1 {
		return fmt.Errorf("an estimate is for at least 1 worker, not %d", j.Workers)
	}
	if j.Threads < 1 || j.Threads > j.Workers {
		return fmt.Errorf("an estimate for %d workers takes 1 to %d threads, not %d", j.Workers, j.Workers, j.Threads)
	}
	return nil
}

// Range is an estimate: the true value is most likely about Mid, and rarely outside Low to High.
type Range struct{ Low, Mid, High float64 }

// Estimate is what a count is expected to take, with the full symmetry and tasks of the default size.
type Estimate struct {
	// Seconds is the wall time of the whole command, from its start to the total.
	Seconds Range
	// CoreSeconds is the time of all searches, added up.
	CoreSeconds Range
	// Solutions is the number of solutions, from random probes alone. Low and High bound the 95%
	// confidence interval.
	Solutions Range
	// Probes is the number of random probes.
	Probes int
	// Tasks is the number of tasks: exact where it is quick to count, up to about n = 22, otherwise
	// within a few percent.
	Tasks uint64
	// MinDepth and MaxDepth bound the numbers of rows of the tasks' prefixes, which differ by class.
	// They are 0 if there are no tasks.
	MinDepth, MaxDepth int
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
	cost, err := trees.Search(ctx, job.Kernel, plans, job.Threads, job.CPUClock)
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{
		Seconds:     tasks.wallTime(cost, job.Workers),
		CoreSeconds: cost.interval(),
		Solutions:   trees.Solutions,
		Probes:      trees.Probes,
		Tasks:       tasks.number,
	}
	for i := range plans {
		if trees.Profiles[i][plans[i].Depth] > 0 {
			e.MinDepth = min(cmp.Or(e.MinDepth, plans[i].Depth), plans[i].Depth)
			e.MaxDepth = max(e.MaxDepth, plans[i].Depth)
		}
	}
	return e, nil
}

// maxEnumerated is the greatest number of prefixes that are counted one by one, in about 30 ms;
// beyond it the profile gives their number.
const maxEnumerated = 2 << 20

// taskSet describes the tasks of a count.
type taskSet struct {
	number   uint64
	prefixes float64
	// longest is the estimated share of the longest task in all work.
	longest float64
}

// tasks counts the tasks of a plan.
func (t *TreeEstimate) tasks(ctx context.Context, plans []queens.ClassPlan) (taskSet, error) {
	var set taskSet
	for i, plan := range plans {
		set.prefixes += t.Profiles[i][plan.Depth]
	}
	exact := set.prefixes <= maxEnumerated
	for i, plan := range plans {
		if ctx.Err() != nil {
			return taskSet{}, context.Cause(ctx)
		}
		prefixes := t.Profiles[i][plan.Depth]
		if exact {
			prefixes = 0
			for range split.Prefixes(plan.Board, plan.Depth) {
				prefixes++
			}
		}
		if prefixes == 0 {
			continue
		}
		batches := math.Ceil(prefixes / float64(plan.Batch))
		set.number += uint64(batches)
		set.longest = max(set.longest, t.workShares[i]*min(1, float64(plan.Batch)/prefixes))
	}
	return set, nil
}
