package coordinator

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"nqueens/pkg/progress"
	"nqueens/pkg/run"
)

// details are the requests for a [run.Detail].
type details struct {
	ended chan struct{}              // closed when the event loop has ended
	last  atomic.Pointer[run.Detail] // nil before the first
}

// Detail returns what the coordinator knows of the run now. After the run has ended, it returns the state at the end.
// Before it counts, Detail waits. The error is the cause of ctx's end. Detail may be called at any time, and nobody may
// change what it returns. The event loop looks at every task for it: ask every two seconds at most.
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
	if c.core != nil {
		c.detail(c.cfg.Roster.Everyone(c.run))
	} else {
		c.details.last.Store(&run.Detail{At: time.Now()})
	}
	close(c.details.ended)
}

// detail returns a new detail, which is the last one from now on.
func (c *Coordinator) detail(workers []progress.Presence) *run.Detail {
	d := c.core.detail(time.Now(), workers)
	c.details.last.Store(d)
	return d
}

// detail returns what is known of the run now.
func (c *core) detail(now time.Time, workers []progress.Presence) *run.Detail {
	quarantined := c.ledger.Quarantined()
	slices.Reverse(quarantined) // the latest first
	return &run.Detail{
		At: now, Workers: c.workerDetails(workers), Classes: c.classCounts(), Confirmation: c.ledger.Confirmation(nil),
		Redundancy: c.trust.Redundancy, SpotCheck: c.trust.SpotCheck,
		Disputes: c.openDisputes(), Quarantined: quarantined[:min(len(quarantined), run.MaxListed)], Search: c.search(workers),
	}
}

func (c *core) workerDetails(workers []progress.Presence) []run.Worker {
	details, tasks := make([]run.Worker, len(workers)), c.ledger.Figures().Workers()
	for i := range workers {
		details[i] = workers[i].Worker
		details[i].Tasks = tasks[details[i].Name]
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
		disputes = append(disputes, *c.ledger.Dispute(id))
	}
	return disputes
}

// search returns the first prefix of the chunk that a worker has searched the longest, among those in
// flight. Where heartbeats name only chunks that have been counted since, it is the chunk that was
// published first: workers take chunks in that order.
func (c *core) search(workers []progress.Presence) *run.Search {
	var longest progress.Presence // the zero value searches nothing
	var first uint64
	for i := range workers {
		if task, published := c.flight.Chunk(workers[i].Chunk); published && (longest.Chunk == 0 || workers[i].Elapsed > longest.Elapsed) {
			longest, first = workers[i], task
		}
	}
	found := longest.Chunk != 0
	if !found {
		_, first, found = c.flight.Oldest()
	}
	if !found || len(workers) == 0 {
		return nil
	}
	return &run.Search{Task: first, Worker: longest.Name, Class: c.manifest.ClassOf(first), Queens: c.index.Queens(first)}
}
