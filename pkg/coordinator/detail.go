package coordinator

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/run"
)

// maxDetailShare bounds the share of its time that the event loop spends on details, however large the
// run is: it makes no new one before that.
const maxDetailShare = 0.005

// details are the requests for a [run.Detail].
type details struct {
	ended chan struct{}              // closed when the event loop has ended
	last  atomic.Pointer[run.Detail] // nil before the first
	cost  time.Duration              // of the last, in the event loop
}

func newDetails() details { return details{ended: make(chan struct{})} }

// Detail returns what the coordinator knows of the run now, or a moment ago. After the run has ended,
// it returns the state at the end. Before it counts, Detail waits. The error is the cause of ctx's end.
// Detail may be called at any time, and nobody may change what it returns.
func (c *Coordinator) Detail(ctx context.Context) (*run.Detail, error) {
	answer := make(chan *run.Detail, 1)
	workers := c.cfg.Roster.Everyone(c.run) // the event loop needs little time for the rest
	select {
	case c.events <- func(time.Time) error { answer <- c.detail(workers); return nil }:
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
	if c.details.cost = 0; c.core != nil {
		c.detail(c.cfg.Roster.Everyone(c.run))
	} else {
		c.details.last.Store(&run.Detail{At: time.Now()})
	}
	close(c.details.ended)
}

// detail returns a new detail, or the last one if it is too early for another.
func (c *Coordinator) detail(workers []progress.Presence) *run.Detail {
	begun := time.Now()
	last := c.details.last.Load()
	if last != nil && begun.Sub(last.At).Seconds()*maxDetailShare < c.details.cost.Seconds() {
		return last
	}
	d := c.core.detail(begun, workers)
	c.details.last.Store(d)
	c.details.cost = time.Since(begun)
	return d
}

// detail returns what is known of the run now.
func (c *core) detail(now time.Time, workers []progress.Presence) *run.Detail {
	return &run.Detail{
		At: now, Workers: c.workerDetails(workers), Classes: c.classCounts(), Confirmation: c.ledger.Confirmation(),
		Redundancy: c.trust.Redundancy, SpotCheck: c.trust.SpotCheck,
		Disputes: c.openDisputes(), Quarantined: c.quarantinedDetails(workers), Search: c.search(workers),
	}
}

func (c *core) workerDetails(workers []progress.Presence) []run.Worker {
	details, of := make([]run.Worker, len(workers)), c.ledger.Figures()
	for i := range workers {
		details[i] = workers[i].Worker
		details[i].Tasks = of.Tasks(details[i].Name)
		details[i].Quarantined = c.ledger.IsQuarantined(details[i].Key)
	}
	return details
}

// classCounts counts the tasks of each class by state, as taskStates does.
func (c *core) classCounts() []run.ClassCounts {
	m := &c.manifest
	classes, inFlight := make([]run.ClassCounts, len(m.Classes)), c.inFlight()
	for i := range classes {
		classes[i] = run.ClassCounts{
			Work: c.shares[i] * float64(m.TasksOf(i)), Done: c.agreement.DoneOf()[i], InFlight: uint64(inFlight[i]),
		}
	}
	for _, id := range c.agreement.OpenDisputes() {
		classes[m.ClassOf(id)].Disputed++
	}
	return classes
}

// openDisputes returns the first of the open disputes.
func (c *core) openDisputes() (disputes []run.Dispute) {
	all := c.agreement.OpenDisputes()
	for _, id := range all[:min(len(all), run.MaxListed)] {
		d, _ := c.ledger.Dispute(id)
		disputes = append(disputes, run.Dispute{Task: id, Votes: votes(&d)})
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
func (c *core) quarantinedDetails(workers []progress.Presence) (keys []run.QuarantinedKey) {
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
func (c *core) search(workers []progress.Presence) *run.Search {
	var longest *progress.Presence
	var searched flight.ChunkInfo
	for i := range workers {
		chunk, published := c.flight.Chunk(workers[i].Chunk)
		if published && (longest == nil || workers[i].Elapsed > longest.Elapsed) {
			longest, searched = &workers[i], chunk
		}
	}
	name, found := "", longest != nil
	if found {
		name = longest.Name
	} else {
		searched, found = c.flight.Oldest()
	}
	if !found || len(workers) == 0 {
		return nil
	}
	task, _ := c.index.Task(searched.First)
	return &run.Search{Task: searched.First, Worker: name, Class: c.manifest.ClassOf(searched.First), Prefix: task.Prefixes[0]}
}
