// Package count makes a whole count in this process, without transport or ledger:
// what benchmarks, tests and recounts need.
package count

import (
	"context"
	"fmt"
	"math/big"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// Job says what to count and with what.
type Job struct {
	N        int
	Symmetry queens.Symmetry
	// Placed are queens that stand beforehand, if any; symmetry is then None.
	Placed  []queens.Square
	Kernel  kernel.Kernel
	Threads int // at least 1
}

// Validate reports the first thing wrong with the job.
func (j *Job) Validate() error {
	if j.Threads < 1 {
		return fmt.Errorf("a count needs at least 1 thread, not %d", j.Threads)
	}
	_, err := symmetry.Classes(j.N, j.Symmetry, j.Placed...)
	return err
}

// Outcome is what a job came to.
type Outcome struct {
	Total *big.Int
	// Elapsed is the time of search and prefix generation.
	Elapsed time.Duration
}

// Run counts every task of the job's manifest on the job's threads.
func Run(ctx context.Context, job Job) (Outcome, error) {
	start := time.Now()
	if err := job.Validate(); err != nil {
		return Outcome{}, err
	}
	classes, err := symmetry.Classes(job.N, job.Symmetry, job.Placed...)
	if err != nil {
		return Outcome{}, err
	}
	manifest, err := split.Plan(ctx, job.N, job.Symmetry, classes, 0)
	if err != nil {
		return Outcome{}, err
	}
	var mu sync.Mutex
	var sums symmetry.Sums
	tasks := make(chan queens.Task, job.Threads)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(tasks)
		for task := range split.Tasks(&manifest) {
			select {
			case tasks <- task:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	for range job.Threads {
		group.Go(func() error {
			counter, pulse := job.Kernel.New(), new(atomic.Uint64)
			for task := range tasks {
				n, err := counter.Count(ctx, &task.Board, task.Prefixes, pulse)
				if err != nil {
					return err
				}
				mu.Lock()
				sums.Add(manifest.Classes[manifest.ClassOf(task.ID)].K, n)
				mu.Unlock()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Outcome{}, err
	}
	total, err := sums.Total()
	return Outcome{Total: total, Elapsed: time.Since(start)}, err
}
