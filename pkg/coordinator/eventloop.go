package coordinator

import (
	"context"
	"maps"
	"slices"
	"time"

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
		if ctx.Err() != nil { // however much else there is to do
			return context.Cause(ctx)
		}
		if c.onlyChecks() {
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
		var void, consider <-chan struct{}
		if c.ledger.IsVoiding() {
			void = closed
		}
		if c.toConsider > 0 && c.reconciled {
			consider = closed
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
				c.collector.counters.published++
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
		case v := <-c.alone.verdicts:
			err = c.countedLost(&v)
		case l := <-c.lifts:
			c.lift(l)
		case r := <-c.details.requests:
			r.answer <- c.detail(r.workers)
		case <-void:
			err = c.void()
		case <-consider:
			err = c.considerCopies()
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
			c.report(p)
			c.warnNoWorkers(&p)
			c.observeVoters()
			c.warnFewVoters()
			c.considerAll()
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
		c.collector.counters.chunkResults++
		results = c.appendTasks(results, &d.result)
	}
	if err := c.record(results); err != nil {
		return err
	}
	for i := range batch {
		r := &batch[i].result
		c.window.returned(r, r.Sealed != nil && c.trust.refusal(r.Sealed.Key, r.Admission) != nil)
	}
	if !c.caughtUp.IsZero() && !c.reconciled {
		c.reconcile()
	}
	return nil
}

// appendTasks appends the results of the tasks of a chunk.
func (c *Coordinator) appendTasks(results []taskDelivery, r *queens.ChunkResult) []taskDelivery {
	need := c.trust.Redundancy
	if r.Sealed != nil {
		key := r.Sealed.Key
		need = c.trust.need(r.First, len(r.Counts), key, c.ledger.Chunks(key))
	}
	for k := range r.Counts {
		results = append(results, taskDelivery{
			result: r.Result(k, 0), chunk: r.Chunk, need: need, admission: r.Admission, foreign: r.Manifest != c.collector.manifest.Hash,
		})
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
	c.holdings.Store(&holdings{done: c.ledger.Len(), lost: c.ledger.Lost()})
}

// holdings is what the ledger has at a moment: tasks with an accepted result, and how often a task lost its own.
// The sum never falls, so that the record of a run tells which of two ledgers is newer.
type holdings struct{ done, lost uint64 }

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
		c.foundLost(task)
		if err := c.foundCheck(task); err != nil {
			return err
		}
		if results := c.window.pending.take(task.ID); len(results) > 0 {
			if !c.window.has(task.ID) {
				c.window.addEarly(task)
			}
			ready = append(ready, results...)
		}
		delete(c.referee.lookups, task.ID)
		switch d, open := c.collector.disputes[task.ID]; {
		case open && c.canReferee(task.ID):
			c.referee.take(task, d, c.collector.unrefereed[task.ID] != nil)
		case open:
			c.recount(task, d)
		}
	}
	return c.record(ready)
}

// recount has a disputed task counted by further workers.
func (c *Coordinator) recount(task *queens.Task, d *ledger.Dispute) {
	if _, known := c.referee.asked[task.ID]; !known {
		c.referee.asked[task.ID] = time.Now()
	}
	var attempt uint32
	for _, v := range d.Votes {
		attempt = max(attempt, v.Attempt)
	}
	c.window.recount(task, attempt)
}
