package coordinator

import (
	"math/big"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// These are the inputs of a [Core], and its commands. The service around the core, a [Coordinator], has decoded the messages,
// and checked their tickets and hashes.

// Request is a work request.
type Request struct {
	From queens.Process
	queens.WorkRequest
	Invalid []queens.Range // listed chunks with a wrong range or ticket: not in Held; the reply drops them
	Origin  any            // what the service needs to answer; a Reply has it unchanged
}

// Delivery has results of a worker.
type Delivery struct {
	From    queens.Process
	Results []CheckedResult
	Origin  any // what the service needs to answer; Receipts has it unchanged
}

// CheckedResult is a result, and what the service has found wrong with its ticket, hash, ranges or number of counts.
type CheckedResult struct {
	queens.Result
	Refused string // for people; empty if nothing is wrong
}

// Commands are what the service has to do after inputs.
type Commands struct {
	Log      []Line          // log these for people
	Records  []ledger.Record // append these to the ledger; the state has them already
	Receipts []Receipts      // send these when all that was appended so far is on disk
	Replies  []Reply         // send these at once
	Recount  *Recount        // count a task in a child process: one at a time
	Total    bool            // when all that was appended so far is on disk, compute the total from the ledger
	Announce bool            // publish the announcement
	End      *End            // end when all that was appended so far is on disk
}

// Line is a line of the log.
type Line struct {
	Warn bool
	Text string
}

// Reply answers a work request. The service adds a ticket, a board and prefixes to each range of Chunks, and sends the reply.
type Reply struct {
	To      queens.Process
	Number  uint64 // of the request
	Drop    []queens.Range
	Chunks  []queens.Range
	Refused string // why nothing is accepted from the machine, for people
	Origin  any    // of the request
}

// Receipts answers a delivery: a receipt for each of its results, in their order.
type Receipts struct {
	To       queens.Process
	Receipts []queens.Receipt
	Origin   any // of the delivery
}

// Recount says which task the coordinator counts itself, and how.
type Recount struct {
	Task   uint64
	Kernel string
	Deeper bool // with prefixes one row deeper than those of the task
	Why    ledger.Why
}

// End says how the run ended in this process.
type End struct {
	State queens.State // stopped, complete or contradicted
	Total *big.Int     // nil unless the run is complete
	// Err is nil if the run is complete, or was stopped as asked. Otherwise it wraps an error of package queens, which decides
	// the exit code.
	Err error
}

// Options are what a [Core] has to know about its process and the tasks.
type Options struct {
	Instance   uint64
	Version    string
	At         time.Time // of the start: the times in records count from it
	Alone      bool      // no other process can take part, so nothing is held at the start
	Machine    string    // on which the coordinator runs
	Kernels    []string  // that can recount here, the fastest first; generic is among them
	Shares     []float64 // for each class, the part of the run's work that one of its tasks is: see split.Shares
	TaskBytes  []int     // for each class, how many bytes of a reply one of its tasks takes at most
	ReplyBytes int       // how many bytes the chunks of a reply may take: half of the server's max_payload
}
