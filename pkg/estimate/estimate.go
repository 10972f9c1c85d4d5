// Package estimate says what a count will take before it is begun: how long, in how
// many tasks, and about how many solutions there are. It walks down the board at random
// and counts a sample of prefixes with the kernel that is to do the work; the known
// totals play no part. It starts no server and writes nothing.
//
// docs/estimates.md tells people how it is made and how well it does.
package estimate

import (
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
	// Workers is the number of workers that are to count, one thread each, on cores
	// like those of this machine; at least 1.
	Workers int
	// Threads is the number of threads of the estimate itself, 1 to Workers. It should
	// be as many as there are cores, for what these share to show.
	Threads int
	// CPUClock is the clock of the threads of this process; nil is that of the system.
	CPUClock CPUClock
}

// CPUClock returns the time for which the threads of a process have run so far, all
// together, and whether that is known.
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

// Range is an estimate: the truth is most likely about Mid, and hardly outside Low to High.
type Range struct{ Low, Mid, High float64 }

// Estimate is what a count is expected to take, by all eight symmetries and with tasks of
// the default size.
type Estimate struct {
	// Seconds is the time of the whole command, from its start to the total.
	Seconds Range
	// CoreSeconds is the time of the searches alone, added up.
	CoreSeconds Range
	// Solutions is the number of solutions, from random descents alone; Low and High are
	// the bounds of the 95% confidence interval.
	Solutions Range
	// DefaultProbes is their number.
	Probes int
	// Tasks is the number of tasks: exact where it is quickly counted, up to n = 22 or
	// so, and else within a few percent.
	Tasks uint64
	// MinDepth and MaxDepth are the numbers of rows of the tasks' prefixes, which differ
	// by class. Where there are no tasks, they are 0.
	MinDepth, MaxDepth int
}

// Run makes the estimate. It takes some two seconds, and less where the count itself
// takes less. It ends early with the cause of ctx.
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
			if e.MinDepth == 0 {
				e.MinDepth = plans[i].Depth
			}
			e.MinDepth, e.MaxDepth = min(e.MinDepth, plans[i].Depth), max(e.MaxDepth, plans[i].Depth)
		}
	}
	return e, nil
}

// maxEnumerated is the number of prefixes up to which they are gone through to be counted;
// where there are more, the profile says how many. It takes some 30 ms.
const maxEnumerated = 2 << 20

// taskSet is what is known of the tasks of a count.
type taskSet struct {
	number   uint64
	prefixes float64
	// longest is the share that the longest task has in all work, about.
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
