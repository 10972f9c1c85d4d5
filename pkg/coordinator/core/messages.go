package core

import (
	"math/big"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// These are the inputs of a [Core], and its commands. The service around the core, a [Coordinator],
// has decoded the messages, and checked their tickets and hashes.

// Request is a work request.
type Request struct {
	From queens.Process
	queens.WorkRequest
	// listed chunks with a wrong range or ticket: not in Held; the reply drops them
	Invalid []queens.Range
	Origin  any // what the service needs to answer; a Reply has it unchanged
}

// Delivery has results of a worker.
type Delivery struct {
	From    queens.Process
	Results []CheckedResult
	Origin  any // what the service needs to answer; Receipts has it unchanged
}

// CheckedResult is a result, and what the service has found wrong with its ticket, hash, ranges or
// number of counts.
type CheckedResult struct {
	queens.Result
	Refused string // for people; empty if nothing is wrong
}

// Commands are what the service has to do after inputs. Their order matters in one place only: what
// is in OnDisk waits until Records are on disk. [Commit] keeps that order.
//
// Log, Replies, Recount and Announce may be carried out at once, before or after the records are
// written. A reply that is sent before its records are on disk promises nothing: the next
// coordinator adopts what workers list.
type Commands struct {
	Log      []Line          // log these for people
	Replies  []Reply         // send these
	Recount  *Attempt        // count a task in a child process: one at a time
	Announce bool            // publish the announcement
	Records  []ledger.Record // append these to the ledger, in this order; the state has them already
	OnDisk   OnDisk          // do this when Records, and all records before them, are on disk
}

// OnDisk is what the service has to do when all records so far are on disk.
type OnDisk struct {
	Receipts []Receipts // send these: a worker forgets results that have a receipt
	Total    bool       // compute the total from the ledger
	End      *End       // end
}

// NeedsDisk reports whether anything waits for the disk.
func (c *Commands) NeedsDisk() bool {
	return len(c.Records) > 0 || len(c.OnDisk.Receipts) > 0 || c.OnDisk.Total || c.OnDisk.End != nil
}

// A Log keeps the records of a run on disk.
type Log interface {
	// Write appends records, and returns when they are on disk. After an error nothing more is
	// written, and every later Write returns an error.
	Write(records ...ledger.Record) error
}

// Commit writes the records of commands, which are in the order of their inputs, and then calls
// done for each of them. It writes all records together, because a disk takes as long for one
// record as for many. After an error it calls done for none: workers without a receipt deliver
// again.
func Commit(log Log, commands []*Commands, done func(*OnDisk)) error {
	var records []ledger.Record
	for _, c := range commands {
		records = append(records, c.Records...)
	}
	if err := log.Write(records...); err != nil {
		return err
	}
	for _, c := range commands {
		done(&c.OnDisk)
	}
	return nil
}

// Line is a line of the log.
type Line struct {
	Warn bool
	Text string
}

// Reply answers a work request. The service adds a ticket, a board and prefixes to each range of
// Chunks, and sends the reply.
type Reply struct {
	To      queens.Process
	Number  uint64        // of the request
	Kept    time.Duration // how long the request was kept
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

// Attempt is one way in which the coordinator may count a task itself.
type Attempt struct {
	Task   uint64
	Kernel string
	Deeper bool // with prefixes one row deeper than those of the task
	Why    ledger.Why
}

// End says how the run ended in this process.
type End struct {
	State queens.State // stopped, complete or contradicted
	Total *big.Int     // nil unless the run is complete
	// Err is nil if the run is complete, or was stopped as asked. Otherwise it wraps an error of
	// package queens, which decides the exit code.
	Err error
}

// Options are what a [Core] has to know about its process and the tasks.
type Options struct {
	Instance uint64
	Version  string
	At       time.Time // of the start: the times in records count from it
	Alone    bool      // no other process can take part, so nothing is held at the start
	Machine  string    // on which the coordinator runs
	Kernels  []string  // that can recount here, the fastest first; generic is among them
	// for each class, the part of the run's work that one of its tasks is: see split.Shares
	Shares    []float64
	TaskBytes []int // for each class, how many bytes of a reply one of its tasks takes at most
	// how many bytes the chunks of a reply may take: half of the server's max_payload
	ReplyBytes int
}
