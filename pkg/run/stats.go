package run

// Stats is what a coordinator knows of its run at a moment, for monitoring: the progress that
// everybody sees, and beside it what only operators ask for. No decision depends on it.
type Stats struct {
	Progress Progress
	// Tasks are the tasks of the run by state. Each is in one state.
	Tasks TaskStates

	Waiting     int // Chunks in the queue that no worker holds.
	Leases      int // Chunks that workers hold.
	Window      int // Chunks in flight.
	WindowBytes int // Of their prefixes.
	IdleThreads int // Of the workers present, for this run or another.
	Quarantined int // Keys.

	// What follows counts from when this coordinator began, and never falls.

	Published    uint64 // Chunks.
	ChunkResults uint64 // Read from the server.
	Results      ResultCounts
	Refused      RefusedResults
}

// TaskStates are numbers of tasks.
type TaskStates struct {
	Done         uint64 // Enough voters agree.
	InFlight     uint64 // Published, or about to be.
	Waiting      uint64 // To be published.
	Disputed     uint64 // Their results contradict each other, and it is not settled who is right.
	DeadLettered uint64 // Workers were lost while searching them: not published any more.
}

// ResultCounts are numbers of results of single tasks, by what they changed.
type ResultCounts struct {
	Accepted  uint64 // The first of their tasks.
	Confirmed uint64 // Agree with the accepted ones, and are other voters'.
	Duplicate uint64 // Known already.
	Conflict  uint64 // Contradict others of their tasks, and settle nothing.
	Settled   uint64 // Settled a dispute.
}

// RefusedResults are numbers of results of single tasks that do not count, by reason.
type RefusedResults struct {
	UnknownTask    uint64 // The run has no such task.
	WrongHash      uint64 // Something else than the task was counted.
	OtherManifest  uint64 // Counted for another manifest.
	QuarantinedKey uint64 // Their key is quarantined.
}
