// Package count counts tasks in this process, on a pool of threads: the tasks of a whole
// board, exported tasks, or any others. It knows neither transport nor ledger.
package count

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// Job is the count of a whole board.
type Job struct {
	N        int
	Symmetry queens.Symmetry
	// Placed are queens placed beforehand, if any. Symmetry is then None.
	Placed  []queens.Square
	Kernel  kernel.Kernel
	Threads int // At least 1.
}

// Validate reports the first thing wrong with the job.
func (j *Job) Validate() error {
	if j.Threads < 1 {
		return fmt.Errorf("a count needs at least 1 thread, not %d", j.Threads)
	}
	_, err := symmetry.Classes(j.N, j.Symmetry, j.Placed...)
	return err
}

// Outcome is the result of a job.
type Outcome struct {
	Total *big.Int
	// Elapsed is the time of prefix generation and search.
	Elapsed time.Duration
}

// Run splits a board and counts all its tasks.
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
	var sums symmetry.Sums
	err = Each(ctx, job.Kernel, job.Threads, split.Tasks(&manifest), func(c Counted) error {
		sums.Add(manifest.Classes[manifest.ClassOf(c.Task.ID)].K, c.Count)
		return nil
	})
	if err != nil {
		return Outcome{}, err
	}
	total, err := sums.Total()
	return Outcome{Total: total, Elapsed: time.Since(start)}, err
}
