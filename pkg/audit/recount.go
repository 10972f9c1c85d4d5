package audit

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync/atomic"

	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Sample selects tasks of a ledger to count again, and how.
type Sample struct {
	// Share of the counted tasks, 0 to 1: each is selected with that probability, and at
	// least one of each class.
	Share float64
	// Seed of the selection: the same seed selects the same tasks.
	Seed    uint64
	Kernel  kernel.Kernel
	Threads int // At least 1.
	// Recounted, if not nil, is updated with the number of tasks counted again so far.
	Recounted *atomic.Uint64
}

// Recount counts a sample of the ledger's tasks again and returns their number. It makes
// the tasks from the manifest, and compares each count with the ledger's. If they differ the
// error wraps [queens.ErrContradiction] and names task and worker; otherwise it may be the
// cause of ctx's end.
func Recount(ctx context.Context, l *ledger.Ledger, s Sample) (uint64, error) {
	m := l.Header().Manifest
	rng := rand.New(rand.NewPCG(s.Seed, 0))
	always := onePerClass(l, &m, rng)
	tasks := func(yield func(queens.Task) bool) {
		for task := range split.Tasks(&m) {
			selected := rng.Float64() < s.Share || always[task.ID]
			if ctx.Err() != nil || selected && l.Has(task.ID) && !yield(task) {
				return
			}
		}
	}
	recounted := cmp.Or(s.Recounted, new(atomic.Uint64))
	err := count.Each(ctx, s.Kernel, s.Threads, tasks, func(c count.Counted) error {
		r, _, err := resultOf(l, c.Task)
		if err != nil {
			return err
		}
		if c.Count != r.Count {
			return fmt.Errorf("%w: task %d was counted %d by %s (%s), kernel %s counts %d",
				queens.ErrContradiction, r.Task, r.Count, r.Worker, r.Kernel, s.Kernel.Name, c.Count)
		}
		recounted.Add(1)
		return nil
	})
	return recounted.Load(), err
}

// onePerClass selects a counted task of each class that has any.
func onePerClass(l *ledger.Ledger, m *queens.Manifest, rng *rand.Rand) map[uint64]bool {
	chosen := make(map[uint64]bool)
	for i, plan := range m.Classes {
		var one, seen uint64
		for id := plan.First; id < plan.First+m.TasksOf(i); id++ {
			if !l.Has(id) {
				continue
			}
			if seen++; rng.Uint64N(seen) == 0 {
				one = id
			}
		}
		if seen > 0 {
			chosen[one] = true
		}
	}
	return chosen
}

// maxRecountN is the largest side that RecountAll counts: that takes only seconds.
const maxRecountN = 16

// MirrorImage is how [RecountAll] counts a board with placed queens.
const MirrorImage = "mirror-image"

// RecountAll counts the whole board again by another symmetry than that of the run, and
// returns that symmetry. If queens were placed beforehand, it mirrors them left to right
// and returns [MirrorImage]. If the board is too large it returns "" and counts nothing.
// The error wraps [queens.ErrContradiction] if the totals differ.
func RecountAll(ctx context.Context, m *queens.Manifest, total *big.Int, k kernel.Kernel, threads int) (string, error) {
	if m.N > maxRecountN {
		return "", nil
	}
	job := count.Job{N: m.N, Symmetry: queens.Mirror, Kernel: k, Threads: threads}
	if m.Symmetry == queens.Mirror {
		job.Symmetry = queens.Full
	}
	by, how := string(job.Symmetry), "by symmetry "+string(job.Symmetry)
	if len(m.Placed) > 0 {
		by, how = MirrorImage, "with the placed queens mirrored"
		job.Symmetry = queens.None
		for _, s := range m.Placed {
			job.Placed = append(job.Placed, s.Mirrored(m.N))
		}
	}
	recounted, err := count.Run(ctx, job)
	if err == nil && recounted.Cmp(total) != 0 {
		err = fmt.Errorf("%w: the ledger's total is %d, %s it is %d", queens.ErrContradiction, total, how, recounted)
	}
	return by, err
}
