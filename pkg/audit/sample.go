package audit

import (
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// Sample selects tasks of a ledger to count again, and how. The tasks are drawn in a random order,
// without replacement, each of the counted tasks with the same chance.
type Sample struct {
	// Share of the counted tasks, 0 to 1, rounded up; at least one task.
	Share float64
	// Limit is when to end if the share is not reached before, but not before a task is counted.
	// 0 is no limit.
	Limit time.Duration
	// Seed of the order: the same seed draws the same tasks in the same order.
	Seed uint64
	// Kernel counts the tasks. If it is nil, [kernel.Differing] chooses a kernel for each task.
	Kernel  *kernel.Kernel
	Threads int // At least 1.
	// OnProgress, if not nil, is called when the recount begins and after each task, one call at a time, with the
	// number of tasks that are counted again and the number of all that were drawn.
	OnProgress func(done, of uint64)
	// OnDifference, if not nil, is called with each of the [Recounts.Differences] when it is found, one call
	// at a time.
	OnDifference func(run.Difference)
}

func (s *Sample) onProgress(done, of uint64) {
	if s.OnProgress != nil {
		s.OnProgress(done, of)
	}
}

// sampleSize returns the number of tasks of a sample.
func sampleSize(l *ledger.Ledger, s *Sample) uint64 {
	const rounding = 1e-9 // of the product below
	return min(max(uint64(math.Ceil(s.Share*float64(l.Len())-rounding)), 1), l.Len())
}

// draw yields the tasks of a sample, each once. It holds a bit per task.
func draw(l *ledger.Ledger, tasks uint64, s *Sample) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		rng, drawn := rand.New(rand.NewPCG(s.Seed, 0)), make([]uint64, tasks/64+1)
		for left := sampleSize(l, s); left > 0; {
			id := rng.Uint64N(tasks)
			word, bit := &drawn[id/64], uint64(1)<<(id%64)
			if *word&bit != 0 || !l.Has(id) {
				continue
			}
			if !yield(id) {
				return
			}
			*word |= bit
			left--
		}
	}
}
