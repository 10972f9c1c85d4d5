package queens

import "time"

// The messages between a coordinator and workers, as package bus encodes and decodes them. Who sent a work request or a
// delivery is in its subject: a [Process].

// Process is a worker process: the machine on which it runs, and a random name made at its start. Both are valid for
// [ValidateMachine].
type Process struct{ Machine, Name string }

// Announcement is what a coordinator says to all every 2 seconds, and at once on a change.
type Announcement struct {
	Run      string
	Instance uint64 // of the coordinator: random at each start, never 0
	State    State
	Recorded uint64 // results in its ledger, void ones included
	Work     bool   // whether work waits
}

// Chunk is consecutive tasks of one class that are handed out to a machine, with everything that the search needs.
type Chunk struct {
	Range
	Ticket   Ticket
	Board    Board
	Prefixes [][]Prefix // of each task
}

// Held is a chunk that a worker holds, as its work requests list it: a promise to go on.
type Held struct {
	Range
	Ticket   Ticket
	Searched time.Duration // since its search began; 0 while it has not begun
}

// WorkRequest says what a worker holds, and asks for work. A process has one outstanding; a newer one replaces a kept one,
// and lower numbers change nothing.
type WorkRequest struct {
	Number    uint64 // grows with each request of a process, from 1
	Version   string // of the program
	Kernel    string
	Threads   int // that search, or that serve a device
	Searchers int // what searches one load at a time: threads, or devices
	Held      []Held
	Want      int  // searchers for which the worker has no next chunk
	Leaving   bool // the worker ends: it holds nothing more, and wants nothing
}

// WorkReply is the answer to a [WorkRequest].
type WorkReply struct {
	Number   uint64 // of the request
	Instance uint64
	Drop     []Range // ranges whose searches end at once: they are counted, or the run has ended
	Chunks   []Chunk
	Refused  string // why nothing is accepted from the machine in this run, for people; empty if it is accepted
}

// Result is the counts of consecutive tasks of a chunk, by one worker.
type Result struct {
	Range             // of the chunk, with its ticket
	Ticket   Ticket   // of the chunk
	Counted  Range    // the tasks that were counted, within Range
	Hash     uint64   // see [HashOfRange], of what was searched
	Counts   []uint64 // solutions below each counted task
	Kernel   string   // that counted
	Searched time.Duration
}

// Delivery is results of one worker, at most 64 KiB of them in one message. One delivery of a process is in flight.
type Delivery struct {
	Results []Result
}

// Receipt says what became of a result: recorded on disk, or refused and why.
type Receipt struct {
	Recorded bool
	Refused  string // for people; empty if it is recorded
}

// DeliveryReply has a receipt for each result of a delivery, in their order. It comes when the recorded ones are on disk.
type DeliveryReply struct {
	Instance uint64
	Receipts []Receipt
}
