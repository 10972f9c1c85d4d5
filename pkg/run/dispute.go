package run

import "time"

// Dispute is a task whose counts contradict each other, or did.
type Dispute struct {
	Task    uint64
	Settled bool
	Votes   []Vote // In a [Survey] the first [MaxVotes].
	More    int    // Votes beyond these.
}

// Vote is a count of a disputed task.
type Vote struct {
	Count       uint64 // Of the class's board, unweighted.
	Worker, Key string // Key is empty for the coordinator's own count.

	// What follows is known of the votes in a [Survey].

	Kernel   string
	Accepted bool // It is the count of the ledger.
	Void     bool // Its key was quarantined.
}

// QuarantinedKey is a key from which nothing is accepted, because it counted wrong.
type QuarantinedKey struct {
	Key, Reason string
	At          time.Time
	Task        uint64 // That it counted wrong.
	Worker      string // In a [Detail], the name of a worker present with that key; empty if there is none.
}
