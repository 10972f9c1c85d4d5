package run

import "time"

// Work is what a worker does at a moment.
type Work struct {
	Threads   int      // All, where devices count as several.
	Tasks     uint64   // Tasks counted since the start.
	Prefixes  uint64   // Of these tasks.
	Results   uint64   // Of chunks, stored since the start.
	Busy      int      // Threads that search.
	Searching int      // Chunks in search.
	Ready     int      // Chunks that wait for a thread.
	Reporting int      // Chunks whose results are to be stored or acknowledged.
	Runs      []string // Names of the runs of all chunks held, sorted.
	Idle      string   // Why no chunk is held; empty while one is.
	Paused    string   // Why the worker pauses; empty while it does not.
	// SearchTime is how long threads have searched since the start, together.
	SearchTime time.Duration
}
