package audit

import (
	"math"
	"math/rand/v2"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
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
	// Kernel counts the tasks. If it is nil, [kernel.Other] chooses a kernel for each task.
	Kernel  *kernel.Kernel
	Threads int // At least 1.
	// Progress, if not nil, is updated during the recount.
	Progress *Progress
	// OnDifference, if not nil, is called with each of the [Recounts.Differences] when it is found, one call
	// at a time.
	OnDifference func(run.Difference)
}

// draw draws the counted tasks of a ledger. It holds a bit per task.
type draw struct {
	ledger *ledger.Ledger
	tasks  uint64
	rng    *rand.Rand
	drawn  []uint64 // a bit per task
	left   uint64   // tasks still to draw
}

func newDraw(l *ledger.Ledger, m *queens.Manifest, s *Sample) *draw {
	const rounding = 1e-9 // of the product below
	return &draw{
		ledger: l, tasks: m.Tasks, rng: rand.New(rand.NewPCG(s.Seed, 0)), drawn: make([]uint64, m.Tasks/64+1),
		left: min(max(uint64(math.Ceil(s.Share*float64(l.Len())-rounding)), 1), l.Len()),
	}
}

// next returns a task that was not drawn before, while there are some left to draw.
func (d *draw) next() (uint64, bool) {
	for d.left > 0 {
		id := d.rng.Uint64N(d.tasks)
		word, bit := &d.drawn[id/64], uint64(1)<<(id%64)
		if *word&bit == 0 && d.ledger.Has(id) {
			*word |= bit
			d.left--
			return id, true
		}
	}
	return 0, false
}
