package run

import (
	"time"

	"nqueens/pkg/queens"
)

// Detail is what a coordinator knows of its run beyond a [Snapshot]: lists that are too long to be made for
// each snapshot, for those who look at them. No decision depends on it.
type Detail struct {
	At      time.Time
	Workers []Worker      // All workers present, sorted by name.
	Classes []ClassCounts // Of the manifest's classes, in the same order.
	// Confirmation says what stands behind the counts so far. Voters may still disagree.
	Confirmation Confirmation
	Redundancy   int       // Voters that must agree on each task, from 1.
	SpotCheck    SpotCheck // Tasks that are checked besides that.
	// Disputes are open, sorted by task; Quarantined are sorted by time, the latest first. There are
	// at most [MaxListed] of each.
	Disputes    []Dispute
	Quarantined []QuarantinedKey
	Search      *Search // Nil if none is known.
}

// MaxListed bounds the disputes and the quarantined keys of a [Detail].
const MaxListed = 64

// ClassCounts are numbers of tasks of a class. The tasks in none of them wait.
type ClassCounts struct {
	Work     float64 // Share of the run's estimated work, 0 to 1.
	Done     uint64  // Enough voters agree.
	InFlight uint64  // Published, or about to be. Quarantined tasks are among them.
	Disputed uint64
}

// Search is the first prefix of a chunk that a worker searches.
type Search struct {
	Task   uint64 // The first of the chunk.
	Worker string // Empty if it is not known.
	Class  int    // Index in the manifest's classes.
	Prefix queens.Prefix
}
