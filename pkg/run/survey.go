package run

import (
	"time"

	"nqueens/pkg/queens"
)

// Survey is what the ledger of a run says beside its total, for reports: who counted, how long that took,
// and what disagreed. Its lists are bounded, and so is its size. No decision depends on it.
type Survey struct {
	Manifest   queens.Manifest
	Created    time.Time
	State      State
	Redundancy int       // Voters that had to agree on each task, from 1.
	SpotCheck  SpotCheck // Tasks that were checked besides that.

	Done uint64 // Tasks with an accepted count.
	// Times are those of the tasks that were read, Times.Tasks of Done. Unread says why there are no more;
	// it is empty if all were read. The contributions are of the same tasks.
	Times  TaskTimes
	Unread string

	// Contributions are what workers counted, those with the most core time first, at most
	// [MaxSurveyed]. Others is the sum of the remaining ones, and OtherWorkers their number.
	Contributions []Contribution
	Others        Contribution
	OtherWorkers  int
	// Kernels are what kernels counted, in the same order and as many; Worker and Key are empty.
	// OtherKernels is the number of the remaining ones.
	Kernels      []Contribution
	OtherKernels int

	// Disputes are the first [MaxSurveyed] of the tasks whose counts contradicted each other.
	Disputes     []Dispute
	DisputeCount int
	// Quarantined are the first [MaxSurveyed] keys from which nothing is accepted any more.
	Quarantined      []QuarantinedKey
	QuarantinedCount int
	Rejected         uint64 // Results that fit no task of the run.
	Damaged          int    // Records that were damaged when the ledger was opened.
}

// MaxSurveyed bounds each list of a [Survey], and MaxVotes the votes of a dispute in it.
const (
	MaxSurveyed = 100
	MaxVotes    = 10
)

// Contribution is what a worker with a key counted with a kernel, by the accepted counts.
type Contribution struct {
	Worker, Key, Kernel string // Key is empty for the coordinator's own counts.
	Tasks               uint64
	CoreTime            time.Duration
}

// Add adds another contribution.
func (c *Contribution) Add(tasks uint64, coreTime time.Duration) {
	c.Tasks += tasks
	c.CoreTime = addTime(c.CoreTime, coreTime)
}
