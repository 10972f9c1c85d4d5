package queens

import "time"

// These are the messages between a coordinator and workers. Package bus encodes and decodes them.
// The sender of a work request or a delivery, a [Process], is in the subject of the message.

// Announcement is what a coordinator sends to all workers every 2 seconds, every 10 if it has more
// messages than it can read, and at once when State or Work changes.
type Announcement struct {
	Run      string
	Instance uint64 // of the coordinator: random at each start, never 0
	State    State
	Recorded uint64 // results in its ledger, void ones included
	Work     bool   // whether work waits
}

// Chunk is consecutive tasks of one class that are handed out to a worker, with everything that the
// search needs.
type Chunk struct {
	Range
	Ticket   Ticket
	Board    Board
	Prefixes [][]Prefix // of each task, by the method prefixes
	Sets     []RowSets  // of each task, by the method halves
}

// ChunkOf returns the chunk of consecutive tasks of one class, at least one.
func ChunkOf(ticket Ticket, tasks []Task) Chunk {
	c := Chunk{
		Range:  Range{First: tasks[0].ID, Tasks: uint64(len(tasks))},
		Ticket: ticket, Board: tasks[0].Board,
	}
	for i := range tasks {
		if tasks[i].Method() == Halves {
			c.Sets = append(c.Sets, tasks[i].Sets)
		} else {
			c.Prefixes = append(c.Prefixes, tasks[i].Prefixes)
		}
	}
	return c
}

// Task returns a task of the chunk, given its index from 0.
func (c *Chunk) Task(i int) Task {
	t := Task{ID: c.First + uint64(i), Board: c.Board}
	if len(c.Sets) > 0 {
		t.Sets = c.Sets[i]
	} else {
		t.Prefixes = c.Prefixes[i]
	}
	return t
}

// Held is a chunk in the list of a work request. The worker searches it, will search it, or has
// counted it and has no receipt yet.
type Held struct {
	Range
	Ticket   Ticket
	Searched time.Duration // time of its search so far; 0 before the search begins
}

// WorkRequest says what a worker holds, and asks for work. The coordinator keeps at most one
// request of a process. A newer request replaces it, and an older or repeated one changes nothing:
// see [WorkRequest.IsAfter].
type WorkRequest struct {
	Number uint64 // at least 1; grows with each request of a process on a connection
	// random at each connection of the process to a server, never 0; 0 if the request passes no server
	Connection uint64
	Version    string // of the program
	Host       string // name of the worker's host, for people: see [ValidateHost]
	Kernel     string
	Threads    int // threads that search or serve a device
	Searchers  int // threads, or 1 for a device
	Held       []Held
	// Want is how many searchers have no next chunk, or the chunk is under way: see
	// [WorkRequest.IsUnderWay]. An idle searcher counts twice.
	Want    int
	Leaving bool // the worker ends: it holds nothing more, and wants nothing
	// Seen is the number of the newest request whose reply the worker has got; 0 before the first.
	// Chunks of later replies are not in Held: see [WorkRequest.IsUnderWay].
	Seen      uint64
	RoundTrip time.Duration // the worker's mean one to the coordinator; 0 while unknown
}

// IsAfter reports whether a request comes after another one of a process of the same name. Numbers
// compare within a connection only. A request on another connection always comes after: its sender
// has connected again, was cloned, or is another process that uses the name.
func (r *WorkRequest) IsAfter(other *WorkRequest) bool {
	return r.Connection != other.Connection || r.Number > other.Number
}

// LongestReply is how long a message waits for its reply. It exceeds the 5 s for which a
// coordinator may keep a work request.
const LongestReply = 7 * time.Second

// ReplyTime returns within which time a worker with this mean round trip gets a reply that its
// coordinator sends at once. A reply that takes longer is lost.
func ReplyTime(roundTrip time.Duration) time.Duration {
	if roundTrip == 0 {
		return LongestReply
	}
	return min(time.Second+2*roundTrip, LongestReply)
}

// overtaking bounds the time by which a worker may handle a reply later than a newer one: each
// waits in a goroutine of its own, and searches keep all processors busy.
const overtaking = 500 * time.Millisecond

// IsUnderWay reports whether the reply to a request may be on its way to the worker, so that this
// later request can't list the chunks of the reply. The reply was sent the given time ago.
func (r *WorkRequest) IsUnderWay(connection, number uint64, ago time.Duration) bool {
	return !r.Leaving && connection == r.Connection &&
		(ago < overtaking || number > r.Seen && ago < ReplyTime(r.RoundTrip))
}

// WorkReply is the answer to a [WorkRequest].
type WorkReply struct {
	Number   uint64 // of the request
	Instance uint64
	Kept     time.Duration // how long the coordinator has kept the request
	Drop     []Range       // give these up at once: the run wants no count of them from this machine
	Chunks   []Chunk       // count these
	Refused  string        // why the machine is banned, for people; empty if it is not
}

// Result holds the counts of consecutive tasks of a chunk, by one worker.
type Result struct {
	Range             // of the chunk, with its ticket
	Ticket   Ticket   // of the chunk
	Counted  Range    // the tasks that were counted, within Range
	Hash     uint64   // [HashOfRange] of the counted tasks
	Counts   []uint64 // solutions below each counted task
	Kernel   string   // by which they were counted
	Searched time.Duration
}

// Delivery is a message with results of one worker, at most 64 KiB. A process sends a run its next
// delivery when the reply to the last one has come or is late.
type Delivery struct {
	Results []Result
}

// Receipt says whether a result is recorded on disk, or why it was refused.
type Receipt struct {
	Recorded bool
	Refused  string // why, for people; empty if it is recorded
}

// RunHasEnded is why a result that comes after the end of its run is refused. Nothing is wrong
// then.
const RunHasEnded = "the run has ended"

// DeliveryReply has a receipt for each result of a delivery, in the same order. It is sent when the
// recorded results are on disk.
type DeliveryReply struct {
	Instance uint64
	Receipts []Receipt
}
