package coordinator

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/run"
)

// maxDetailShare bounds the share of its time that the event loop spends on details, however large the
// run is: it makes no new one before that.
const maxDetailShare = 0.005

// details are the requests for a [run.Detail].
type details struct {
	requests chan detailRequest
	ended    chan struct{}              // closed when the event loop has ended
	last     atomic.Pointer[run.Detail] // nil before the first
	cost     time.Duration              // of the last, in the event loop
}

// detailRequest asks the event loop, which needs little time for it if the workers are listed already.
type detailRequest struct {
	workers []progress.Presence
	answer  chan<- *run.Detail
}

func newDetails() details {
	return details{requests: make(chan detailRequest), ended: make(chan struct{})}
}

// Detail returns what the coordinator knows of the run now, or a moment ago. After the run has ended,
// it returns the state at the end. Before it counts, Detail waits. The error is the cause of ctx's end.
// Detail may be called at any time, and nobody may change what it returns.
func (c *Coordinator) Detail(ctx context.Context) (*run.Detail, error) {
	answer := make(chan *run.Detail, 1)
	request := detailRequest{c.cfg.Roster.Everyone(c.run), answer}
	select {
	case c.details.requests <- request:
	case <-c.details.ended:
		return c.details.last.Load(), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case d := <-answer:
		return d, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// endDetails keeps the state at the end for requests that come later.
func (c *Coordinator) endDetails() {
	c.details.cost = 0
	c.detail(c.cfg.Roster.Everyone(c.run))
	close(c.details.ended)
}

// detail returns a new detail, or the last one if it is too early for another.
func (c *Coordinator) detail(workers []progress.Presence) *run.Detail {
	begun := time.Now()
	last := c.details.last.Load()
	if last != nil && begun.Sub(last.At).Seconds()*maxDetailShare < c.details.cost.Seconds() {
		return last
	}
	d := &run.Detail{
		At: begun, Workers: c.workerDetails(workers), Classes: c.classCounts(), Confirmation: c.ledger.Confirmation(),
		Redundancy: max(c.trust.Redundancy, 1), SpotCheck: c.trust.SpotCheck,
		Disputes: c.openDisputes(), Quarantined: c.quarantinedDetails(workers), Search: c.search(workers),
	}
	c.details.last.Store(d)
	c.details.cost = time.Since(begun)
	return d
}

func (c *Coordinator) workerDetails(workers []progress.Presence) []run.WorkerDetail {
	details := make([]run.WorkerDetail, len(workers))
	for i := range workers {
		w := &workers[i]
		details[i] = run.WorkerDetail{
			WorkerStatus: w.WorkerStatus, Key: w.Key, Tasks: c.collector.workers[w.Name],
			Quarantined: c.ledger.IsQuarantined(w.Key),
		}
	}
	return details
}

// classCounts counts the tasks of each class by state, as taskStates does.
func (c *Coordinator) classCounts() []run.ClassCounts {
	m := &c.collector.manifest
	classes := make([]run.ClassCounts, len(m.Classes))
	for i := range classes {
		classes[i] = run.ClassCounts{
			Work: c.collector.shares[i] * float64(m.TasksOf(i)),
			Done: c.collector.agreedOf[i], InFlight: c.window.flying[i],
		}
	}
	for id := range c.collector.disputes {
		class := &classes[m.ClassOf(id)]
		class.Disputed++
		if c.collector.agreed[id/64]&(1<<(id%64)) != 0 {
			class.Done--
		}
		if t := c.window.tasks[id]; t != nil && !t.agreed {
			class.InFlight--
		}
	}
	return classes
}

// openDisputes returns the first of the open disputes.
func (c *Coordinator) openDisputes() (disputes []run.Dispute) {
	var first []uint64 // sorted
	for id := range c.collector.disputes {
		if len(first) == run.MaxListed && id > first[len(first)-1] {
			continue
		}
		at, _ := slices.BinarySearch(first, id)
		first = slices.Insert(first, at, id)
		first = first[:min(len(first), run.MaxListed)]
	}
	for _, id := range first {
		disputes = append(disputes, run.Dispute{Task: id, Votes: votes(c.collector.disputes[id])})
	}
	return disputes
}

func votes(d *ledger.Dispute) (votes []run.Vote) {
	for i := range d.Votes {
		v := &d.Votes[i]
		votes = append(votes, run.Vote{Count: v.Count, Worker: v.Worker, Key: v.Key})
	}
	return votes
}

// quarantinedDetails returns the keys that were quarantined last.
func (c *Coordinator) quarantinedDetails(workers []progress.Presence) (keys []run.QuarantinedKey) {
	all := c.ledger.Quarantined()
	slices.Reverse(all)
	for _, q := range all[:min(len(all), run.MaxListed)] {
		key := run.QuarantinedKey{Key: q.Key, Reason: q.Reason, At: q.At, Task: q.Task}
		if i := slices.IndexFunc(workers, func(w progress.Presence) bool { return w.Key == q.Key }); i >= 0 {
			key.Worker = workers[i].Name
		}
		keys = append(keys, key)
	}
	return keys
}

// search returns the first prefix of the chunk that a worker has searched the longest, among those in
// flight. Where heartbeats name only chunks that have been counted since, it is the chunk that was
// published first: workers take chunks in that order.
func (c *Coordinator) search(workers []progress.Presence) *run.Search {
	var longest *progress.Presence
	for i := range workers {
		w := &workers[i]
		chunk := c.window.chunks[w.Chunk]
		if chunk != nil && chunk.streamSeq != 0 && (longest == nil || w.Elapsed > longest.Elapsed) {
			longest = w
		}
	}
	var chunk *inflightChunk
	var name string
	if longest != nil {
		chunk, name = c.window.chunks[longest.Chunk], longest.Name
	} else {
		for _, other := range c.window.chunks {
			if other.streamSeq != 0 && (chunk == nil || other.streamSeq < chunk.streamSeq) {
				chunk = other
			}
		}
	}
	if chunk == nil || len(workers) == 0 {
		return nil
	}
	return &run.Search{Task: chunk.first, Worker: name, Class: c.collector.manifest.ClassOf(chunk.first), Prefix: chunk.prefix}
}
