package run

import (
	"fmt"
	"math"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// Detail is what a coordinator knows of its run beyond a [Snapshot]: lists that are too long to be made for
// each snapshot, for those who look at them. No decision depends on it.
type Detail struct {
	At      time.Time     `json:"-"`
	Workers []Worker      `json:"-"` // All workers present, sorted by name.
	Classes []ClassCounts `json:"-"` // Of the manifest's classes, in the same order.

	Redundancy int       `json:"redundancy"` // voters that must agree on each task; this and what follows only from the coordinator
	SpotCheck  SpotCheck `json:"spot_check"` // which tasks are checked besides that
	// what confirms the counts so far, on which voters may still disagree: the fields of "confirmed_by"
	Confirmation Confirmation `json:"checks"`
	// tasks whose counts contradict each other and are not settled, at most 64
	Disputes []Dispute `json:"open_disputes,omitempty"`
	// keys from which nothing is accepted, at most the latest 64
	Quarantined []QuarantinedKey `json:"quarantined,omitempty"`
	Search      *Search          `json:"-"` // Nil if none is known.
}

// MaxListed bounds the disputes and the quarantined keys of a [Detail].
const MaxListed = 64

// ClassCounts are numbers of tasks of a class. The tasks in none of them wait.
type ClassCounts struct {
	Work     float64 `json:"-"`         // Share of the run's estimated work, 0 to 1.
	Done     uint64  `json:"done"`      // on which enough voters agree; this and the next two only from the coordinator
	InFlight uint64  `json:"in_flight"` // published, or about to be; dead-lettered tasks are among them
	Disputed uint64  `json:"disputed"`  // with contradicting counts
}

// Search is the first prefix of a chunk that a worker searches.
type Search struct {
	Task   uint64 // The first of the chunk.
	Worker string // Empty if it is not known.
	Class  int    // Index in the manifest's classes.
	Queens []int  // The column of the queen in each row of the prefix.
}

// Dispute is a task whose results contradict each other, or did. It never changes.
type Dispute struct {
	Task uint64 `json:"task"` // the task
	// its counts, one for each pair of voter and count, in order of arrival
	Votes []Result `json:"votes"`
	// Revoked are the results that do not count any more: their keys were quarantined.
	Revoked  []Result `json:"-"`
	Accepted uint64   `json:"-"` // The accepted count, if there are votes.
	// Settled says that the coordinator has counted the task itself, or that Quorum admitted keys agree on one
	// count, and more than on any other, or that no votes contradict each other any more.
	Settled bool `json:"-"`
	// Quorum is how many admitted keys settle the dispute: those that must agree on each task, and at
	// least two.
	Quorum int  `json:"-"`
	Full   bool `json:"-"` // It takes no more votes of workers: they can't settle it any more.
}

// HasReferee reports whether the coordinator has counted the task itself.
func (d *Dispute) HasReferee() bool {
	return slices.ContainsFunc(d.Votes, func(v Result) bool { return v.Worker == Referee })
}

// QuarantinedKey is a key from which nothing is accepted any more, because it counted wrong.
type QuarantinedKey struct {
	Key        string    `json:"key"`                  // the key
	Reason     string    `json:"reason"`               // for people
	At         time.Time `json:"at"`                   // when, RFC 3339
	Task       uint64    `json:"task"`                 // that it counted wrong
	Worker     string    `json:"worker"`               // that did, with that key
	Unadmitted bool      `json:"unadmitted,omitempty"` // the key was not admitted then
}

// Difference is a task for which a recount contradicts the accepted result.
type Difference struct {
	Task   uint64 `json:"task"`         // the task
	Count  uint64 `json:"count,string"` // the accepted count
	Worker string `json:"worker"`       // who counted it
	Key    string `json:"key"`          // its key; empty for a count of the coordinator
	Kernel string `json:"kernel"`       // the kernel of that count
	// the accepted result has the hash of another task: the counts may be equal
	OtherTask     bool   `json:"other_task"`
	Recount       uint64 `json:"recount,string"` // the count of the recount
	RecountKernel string `json:"recount_kernel"` // the kernel of the recount
}

// String names the task, both counts, the worker and the kernels, on one line for a terminal.
func (d *Difference) String() string {
	if d.OtherTask {
		return fmt.Sprintf("the result of task %d by %s is of another task", d.Task, d.Worker)
	}
	return fmt.Sprintf("task %d was counted %d by %s (%s), kernel %s counts %d",
		d.Task, d.Count, d.Worker, d.Kernel, d.RecountKernel, d.Recount)
}

// Survey is what the ledger of a run says beside its total, for reports: who counted, how long that took,
// and what disagreed. Its lists are bounded, and so is its size. No decision depends on it.
type Survey struct {
	Manifest   queens.Manifest
	Created    time.Time
	State      State
	Redundancy int       // Voters that had to agree on each task, from 1.
	SpotCheck  SpotCheck // Tasks that were checked besides that.

	Done     uint64        // Tasks with an accepted count.
	CoreTime time.Duration // Of their searches, all added up.

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

// MaxSurveyed bounds each list of a [Survey].
const MaxSurveyed = 100

// Contribution is what a worker with a key counted with a kernel, by the accepted counts.
type Contribution struct {
	Worker   string  `json:"worker"`        // who; "(coordinator)" and "(check)" are the coordinator itself
	Key      string  `json:"key,omitempty"` // public key; absent for the coordinator itself
	Kernel   string  `json:"kernel"`        // with which
	Tasks    uint64  `json:"tasks"`         // tasks
	CoreTime Seconds `json:"core_s"`        // seconds of the searches, added up
}

// Add adds another contribution.
func (c *Contribution) Add(o *Contribution) {
	c.Tasks += o.Tasks
	c.CoreTime.Duration = min(c.CoreTime.Duration, math.MaxInt64-o.CoreTime.Duration) + o.CoreTime.Duration // no overflow
}
