package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// eventLoop publishes tasks and records results until every task has a result that is not
// disputed. While it runs, nothing else uses the window, the collector and the ledger.
func (c *Coordinator) eventLoop(ctx context.Context) error {
	sweep := time.NewTicker(c.window.sweepInterval())
	defer sweep.Stop()
	report := time.NewTicker(c.cfg.ReportEvery)
	defer report.Stop()
	closed := make(chan struct{})
	close(closed)
	caughtUp := c.caughtUp
	for !c.collector.complete() {
		// A channel that is nil blocks for ever, and so disables its case below.
		var refill <-chan struct{}
		if c.reconciled { // before, the server may have results of the tasks to publish
			ready, more := c.window.fill()
			if err := c.record(ready); err != nil {
				return err
			}
			if more {
				refill = closed
			}
		}
		var requests chan<- request
		next, ok := c.window.nextRequest()
		if ok {
			requests = c.requests
		}
		var lookups chan<- []uint64
		if len(c.wanted) > 0 {
			lookups = c.lookups
		}
		var err error
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-refill:
		case requests <- next:
			c.window.sent()
		case r := <-c.completed:
			c.window.completed(r)
		case lookups <- c.wanted:
			c.wanted = nil
		case task := <-c.found:
			err = c.handleFound(drain([]queens.Task{task}, c.found))
		case d := <-c.deliveries:
			err = c.receive(drain([]delivery{d}, c.deliveries))
		case <-caughtUp:
			caughtUp = nil
			err = c.reconcile()
		case <-sweep.C:
			err = c.sweep()
		case <-report.C:
			p := c.progress()
			c.cfg.OnProgress(p)
			c.warnNoWorkers(&p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// receive records results that come from the server.
func (c *Coordinator) receive(batch []delivery) error {
	if len(batch) > 0 {
		c.collector.lastRead = batch[len(batch)-1].position
	}
	return c.record(batch)
}

// record records results, and has the tasks looked up that are needed then: before
// reconcile none, since it requests all.
func (c *Coordinator) record(batch []delivery) error {
	if len(batch) == 0 {
		return nil
	}
	wanted, err := c.collector.record(batch)
	if err != nil {
		return err
	}
	if c.reconciled {
		c.wanted = append(c.wanted, wanted...)
	}
	c.publishPosition()
	return nil
}

// publishPosition tells renewLoop what the ledger holds.
func (c *Coordinator) publishPosition() {
	at := c.ledger.Position()
	c.ackedPosition.Store(&at)
	c.done.Store(c.ledger.Len())
}

// reconcile records the rest of the results that the server had at the start. From now on
// tasks are published.
func (c *Coordinator) reconcile() error {
	for len(c.deliveries) > 0 {
		if err := c.receive(drain(nil, c.deliveries)); err != nil {
			return err
		}
	}
	c.reconciled = true
	c.wanted = slices.AppendSeq(slices.Collect(maps.Keys(c.window.pending.results)), maps.Keys(c.collector.disputes))
	c.resetMeter()
	accepted, pending := c.ledger.Len()-c.resumed, c.window.pending.count
	if c.resumed > 0 || accepted > 0 || pending > 0 {
		c.cfg.Log.Info().Uint64("in_ledger", c.resumed).Uint64("accepted_from_server", accepted).
			Int("on_server_to_be_checked", pending).Uint64("duplicates", c.collector.duplicates).
			Uint64("tasks", c.collector.manifest.Tasks).Int("disputes", len(c.collector.disputes)).
			Msg("reconciled: publishing the remaining tasks")
	}
	return nil
}

// handleFound takes tasks that were looked up. It records their pending results, and
// republishes those in dispute.
func (c *Coordinator) handleFound(tasks []queens.Task) error {
	var ready []delivery
	for i := range tasks {
		task := &tasks[i]
		if results := c.window.pending.take(task.ID); len(results) > 0 {
			if !c.window.has(task.ID) {
				c.window.add(task)
			}
			ready = append(ready, results...)
		}
		d, open := c.collector.disputes[task.ID]
		if !open {
			continue
		}
		var attempt uint32
		var voters []string
		for _, v := range d.Votes {
			attempt = max(attempt, v.Attempt)
			voters = append(voters, v.Worker)
		}
		c.window.recount(task, attempt, voters)
	}
	return c.record(ready)
}

// sweep has overdue tasks checked or republished, and handles lost workers. It returns an
// error if the workers connected can't complete the run.
func (c *Coordinator) sweep() error {
	// A task whose result is here is not overdue.
	if err := c.receive(drain(nil, c.deliveries)); err != nil || c.collector.complete() {
		return err
	}
	_, threads := c.cfg.Roster.Present()
	c.window.resize(threads)
	lost, expired := c.window.sweep()
	for _, f := range lost {
		c.lost++
		if c.limiter.Allow("lost") {
			c.cfg.Log.Info().Uint64("task", f.task.ID).Uint32("attempt", f.task.Attempt+1).Uint64("lost_so_far", c.lost).
				Msg("tasks left the queue without a result, publishing them again")
		}
	}
	for _, f := range expired {
		c.cfg.Log.Warn().Uint64("task", f.task.ID).Uint32("attempt", f.task.Attempt).
			Msg("no result for a long time although the queue has the task: publishing it again")
	}
	for _, worker := range c.cfg.Roster.Expire() {
		c.handleLost(&worker)
	}
	return c.blocked()
}

// handleLost notes a lost worker on the tasks that it was searching.
func (c *Coordinator) handleLost(worker *run.Heartbeat) {
	var held []uint64
	for _, h := range worker.Held {
		if h.Run != c.run {
			continue
		}
		held = append(held, h.Task)
		if workers := c.window.noteLost(h.Task, worker.Worker); workers != nil {
			c.cfg.Log.Error().Uint64("task", h.Task).Strs("workers", workers).
				Msg("task quarantined: workers were lost while searching it")
		}
	}
	c.cfg.Log.Warn().Str("worker", worker.Worker).Uints64("held", held).Msg("worker lost")
}

// blocked returns an error if only quarantined and disputed tasks are left, and for
// DisputeTimeout no worker was connected that can settle a dispute.
func (c *Coordinator) blocked() error {
	if c.window.hasWork() || c.canSettle() {
		c.blockedSince = time.Time{}
		return nil
	}
	if c.blockedSince.IsZero() {
		c.blockedSince = time.Now()
	}
	if len(c.collector.disputes) > 0 && time.Since(c.blockedSince) < c.cfg.DisputeTimeout {
		return nil
	}
	var lines []string
	for id, f := range c.window.inflight {
		if f.quarantined {
			lines = append(lines, fmt.Sprintf("workers %s were lost while searching task %d (to count it alone: coordinator ledger %s --task %d | worker task)",
				strings.Join(f.lostWorkers, ", "), id, c.run, id))
		}
	}
	slices.Sort(lines)
	for _, d := range c.collector.disputes {
		lines = append(lines, audit.DescribeDispute(d)+" (no other worker is connected to count it again: start one and resume)")
	}
	return fmt.Errorf("%w: %d of %d tasks are counted; %s", queens.ErrIncomplete, c.ledger.Len(), c.collector.manifest.Tasks, strings.Join(lines, "; "))
}

// canSettle reports whether a worker is connected that has no vote yet in one of the open
// disputes over tasks that are not quarantined.
func (c *Coordinator) canSettle() bool {
	present := c.cfg.Roster.Names()
	for _, d := range c.collector.disputes {
		if f := c.window.inflight[d.Task]; f != nil && f.quarantined {
			continue
		}
		if slices.ContainsFunc(present, func(name string) bool {
			return !slices.ContainsFunc(d.Votes, func(v queens.Result) bool { return v.Worker == name })
		}) {
			return true
		}
	}
	return false
}

// How long a run has no workers before that is logged, and until it is logged again.
const (
	noWorkersDelay    = 10 * time.Second
	noWorkersInterval = 5 * time.Minute
)

func (c *Coordinator) warnNoWorkers(p *run.Progress) {
	switch {
	case p.WorkerCount > 0:
		c.warnNoWorkersAt = time.Now().Add(noWorkersDelay)
	case !time.Now().Before(c.warnNoWorkersAt):
		c.warnNoWorkersAt = time.Now().Add(noWorkersInterval)
		c.cfg.Log.Warn().Msg("no workers connected: start one with worker --nats and the address of the server")
	}
}
