package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/ledger"
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
	beat := time.NewTicker(run.BeatInterval)
	defer beat.Stop()
	c.observeVoters()
	if err := c.quarantineJudged(); err != nil { // an earlier coordinator was killed before it
		return err
	}
	for !c.collector.complete() {
		if c.window.checks > 0 && c.window.onlyChecks() && len(c.collector.disputes) == 0 {
			if err := c.endChecks(); err != nil {
				return err
			}
			if c.collector.complete() {
				break
			}
		}
		// A channel that is nil blocks for ever, and so disables its case below.
		var refill <-chan struct{}
		if c.reconciled { // before, the server may have results of the tasks to publish
			ready, more := c.window.fill()
			if err := c.record(ready); err != nil {
				return err
			}
			c.wanted, c.window.wanted = append(c.wanted, c.window.wanted...), nil
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
		referee, disputed := c.referee.next()
		checks, check := c.nextCheck()
		var err error
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-refill:
		case requests <- next:
			c.window.sent()
		case r := <-c.completed:
			c.window.completed(r)
			if r.published {
				c.announceWork()
			}
		case lookups <- c.wanted:
			c.wanted = nil
		case task := <-c.found:
			err = c.handleFound(c.drainFound(task))
		case referee <- disputed:
			c.referee.sent()
		case v := <-c.referee.verdicts:
			err = c.judge(&v)
		case checks <- check:
			c.sentCheck()
		case v := <-c.checker.verdicts:
			err = c.checked(&v)
		case l := <-c.lifts:
			err = c.lift(l)
		case d := <-c.deliveries:
			err = c.receive(c.drainDeliveries(d))
		case <-sweep.C:
			err = c.sweep()
		case <-beat.C:
			c.updateBeat()
		case <-report.C:
			c.measureBound()
			p := c.progress()
			c.window.resize(p.Threads)
			c.cfg.OnProgress(p)
			c.warnNoWorkers(&p)
			c.observeVoters()
			c.warnFewVoters()
			err = c.considerCopies()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// receive records results that come from the server. The first time that all are there, it
// has the remaining tasks published.
func (c *Coordinator) receive(batch []delivery) error {
	var results []taskDelivery
	for i := range batch {
		d := &batch[i]
		if !d.caughtUp.IsZero() {
			c.caughtUp = d.caughtUp
			continue
		}
		c.collector.lastRead = d.position
		results = c.appendTasks(results, &d.result)
	}
	if err := c.record(results); err != nil {
		return err
	}
	for i := range batch {
		r := &batch[i].result
		c.window.returned(r, r.Sealed != nil && c.ledger.IsQuarantined(r.Sealed.Key))
	}
	if !c.caughtUp.IsZero() && !c.reconciled {
		c.reconcile()
	}
	return nil
}

// appendTasks appends the results of the tasks of a chunk.
func (c *Coordinator) appendTasks(results []taskDelivery, r *queens.ChunkResult) []taskDelivery {
	need, admitted := c.trust.Redundancy, false
	if r.Sealed != nil {
		key := r.Sealed.Key
		need = c.trust.need(r.First, len(r.Counts), key, c.ledger.Chunks(key))
		admitted = c.trust.admits(key, r.Admission)
	}
	for k := range r.Counts {
		result := r.Result(k, 0)
		result.Admitted = admitted
		results = append(results, taskDelivery{result, r.Chunk, need, r.Manifest != c.collector.manifest.Hash})
	}
	return results
}

// record records results, and has the tasks looked up that are needed then: before
// reconcile none, since it requests all.
func (c *Coordinator) record(batch []taskDelivery) error {
	if len(batch) == 0 {
		return nil
	}
	wanted, err := c.collector.record(batch)
	if err != nil {
		return err
	}
	if c.reconciled {
		c.wanted = append(c.wanted, wanted...)
		for _, chunk := range c.window.closeCounted() {
			if err := c.considerCopy(chunk); err != nil {
				return err
			}
		}
	}
	c.publishPosition()
	return c.quarantineJudged()
}

// publishPosition tells renewLoop what the ledger holds.
func (c *Coordinator) publishPosition() {
	at := c.ledger.Position()
	c.ackedPosition.Store(&at)
	c.done.Store(c.ledger.Len())
}

// reconcile notes that the results that the server had at the start are recorded. From now on
// tasks are published.
func (c *Coordinator) reconcile() {
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
}

// handleFound takes tasks that were looked up. It records their pending results, and has those
// in dispute counted again.
func (c *Coordinator) handleFound(tasks []queens.Task) error {
	var ready []taskDelivery
	for i := range tasks {
		task := &tasks[i]
		c.window.found(task)
		if err := c.foundCheck(task); err != nil {
			return err
		}
		if results := c.window.pending.take(task.ID); len(results) > 0 {
			if !c.window.has(task.ID) {
				c.window.addEarly(task)
			}
			ready = append(ready, results...)
		}
		switch d, open := c.collector.disputes[task.ID]; {
		case open && c.canReferee(task.ID):
			c.referee.take(task, c.collector.unrefereed[task.ID] != nil)
		case open:
			c.recount(task, d)
		}
	}
	return c.record(ready)
}

// recount has a disputed task counted by further workers.
func (c *Coordinator) recount(task *queens.Task, d *ledger.Dispute) {
	var attempt uint32
	for _, v := range d.Votes {
		attempt = max(attempt, v.Attempt)
	}
	c.window.recount(task, attempt)
}

// sweep has overdue tasks checked or republished, and handles lost workers. It returns an
// error if the workers connected can't complete the run.
func (c *Coordinator) sweep() error {
	// A task whose result is here is not overdue.
	if err := c.receive(c.drainDeliveries()); err != nil || c.collector.complete() {
		return err
	}
	gone := c.cfg.Roster.Expire()
	held := make(map[uint64]bool)
	for chunk := range c.cfg.Roster.Held(c.run) {
		held[chunk] = true
	}
	lost, expired := c.window.sweep(held, c.caughtUp)
	for _, l := range lost {
		if l.answered {
			c.cfg.Log.Debug().Uint64("task", l.first).Uint32("attempt", l.attempt+1).
				Msg("a result has settled only some of its tasks, publishing the others again")
			continue
		}
		c.lost += uint64(l.tasks)
		if c.limiter.Allow("lost") {
			c.cfg.Log.Info().Uint64("task", l.first).Uint32("attempt", l.attempt+1).Uint64("lost_so_far", c.lost).
				Msg("tasks left the queue without a result, publishing them again")
		}
	}
	for _, e := range expired {
		c.cfg.Log.Warn().Uint64("task", e.first).Uint32("attempt", e.attempt).
			Msg("no result for a long time although the queue has the task: publishing it again")
	}
	for _, worker := range gone {
		c.handleLost(&worker, held)
	}
	return c.blocked()
}

// handleLost notes a lost worker on the tasks that it was searching, where others hold the given
// chunks.
func (c *Coordinator) handleLost(worker *run.Heartbeat, held map[uint64]bool) {
	var searched []uint64
	for _, h := range worker.Held {
		chunk := c.window.chunks[h.Chunk]
		if h.Run != c.run || !h.Searching || chunk == nil || slices.Contains(searched, chunk.first) {
			continue
		}
		searched = append(searched, chunk.first)
		if task, workers := c.window.noteLost(h.Chunk, worker.Worker, held[h.Chunk]); workers != nil {
			c.cfg.Log.Error().Uint64("task", task).Strs("workers", workers).
				Msg("task quarantined: workers were lost while searching it")
		}
	}
	c.cfg.Log.Warn().Str("worker", worker.Worker).Uints64("held", searched).Msg("worker lost")
}

// blocked returns an error if only quarantined and disputed tasks are left, and for
// DisputeTimeout no worker was connected that can settle a dispute.
func (c *Coordinator) blocked() error {
	if c.window.hasWork() || len(c.refereeable(1)) > 0 || c.canSettle() {
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
	for id, f := range c.window.tasks {
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

// canSettle reports whether a voter is connected that has no vote yet in one of the open disputes
// that take votes, over tasks that are not quarantined.
func (c *Coordinator) canSettle() bool {
	for _, d := range c.collector.disputes {
		if f := c.window.tasks[d.Task]; f != nil && f.quarantined || d.IsFull() {
			continue
		}
		if c.trust.isConnected(d.Votes) {
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
