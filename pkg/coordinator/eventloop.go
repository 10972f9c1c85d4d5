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

// eventLoop owns the window, the books and the ledger: nothing else touches them while it
// runs.
func (c *Coordinator) eventLoop(ctx context.Context, in *receiver, post *dispatcher, search *taskLookup) error {
	sweep := time.NewTicker(c.cfg.CheckAfter / 4)
	defer sweep.Stop()
	report := time.NewTicker(c.cfg.ReportEvery)
	defer report.Stop()
	always := make(chan struct{})
	close(always)
	caughtUp := in.caughtUp
	for !c.collector.complete() {
		var again <-chan struct{} // blocks for ever, unless there is more to draw
		if caughtUp == nil {      // before, there may be results on the way of what would be drawn
			ripe, more := c.window.fill()
			if err := c.record(ripe, search); err != nil {
				return err
			}
			if more {
				again = always
			}
		}
		next, ok := c.window.nextRequest()
		jobs := post.requests
		if !ok {
			jobs = nil // blocks for ever: the window is full, or all tasks are out
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again:
		case jobs <- next:
			c.window.sent(next)
		case placed := <-post.completed:
			c.window.completed(placed)
		case a := <-in.deliveries:
			if err := c.receive(in.more(a), search, caughtUp == nil); err != nil {
				return err
			}
		case <-caughtUp:
			caughtUp = nil
			if err := c.reconcile(in, search); err != nil {
				return err
			}
		case tasks := <-search.found:
			if err := c.found(tasks, search); err != nil {
				return err
			}
		case <-sweep.C:
			if err := c.sweep(); err != nil {
				return err
			}
		case <-report.C:
			s := c.snapshot()
			c.cfg.OnProgress(s)
			c.warnNoWorkers(&s)
		}
	}
	return nil
}

// run enters results that have come. Those of tasks that were not drawn yet are held;
// their tasks are looked for once all has come that was there at first.
func (c *Coordinator) receive(batch []delivery, search *taskLookup, caughtUp bool) error {
	c.collector.lastRead = batch[len(batch)-1].at
	if !caughtUp {
		search = nil
	}
	return c.record(batch, search)
}

// record takes a batch of results into the books, and has the tasks searched for that are
// requested then.
func (c *Coordinator) record(batch []delivery, search *taskLookup) error {
	if len(batch) == 0 {
		return nil
	}
	wanted, err := c.collector.record(batch)
	if err != nil {
		return err
	}
	if search != nil {
		search.request(wanted)
	}
	c.publishPosition()
	return nil
}

// publishPosition tells those who renew the claim how far the ledger is.
func (c *Coordinator) publishPosition() {
	at := c.ledger.Position()
	c.ackedPosition.Store(&at)
	c.done.Store(c.ledger.Len())
}

// reconcile enters what was on the server when the coordinator began, and tells what
// the run goes on with.
func (c *Coordinator) reconcile(in *receiver, search *taskLookup) error {
	for batch := in.drain(); len(batch) > 0; batch = in.drain() {
		if err := c.receive(batch, search, false); err != nil {
			return err
		}
	}
	search.request(c.window.pending.ids())
	search.request(slices.Collect(maps.Keys(c.collector.disputes)))
	c.resetMeter()
	accepted, early := c.ledger.Len()-c.resumed, c.window.pending.count
	if c.resumed > 0 || accepted > 0 || early > 0 {
		c.cfg.Log.Info().Uint64("in_ledger", c.resumed).Uint64("accepted_from_server", accepted).
			Int("on_server_to_be_checked", early).Uint64("duplicates", c.collector.duplicates).
			Uint64("tasks", c.collector.manifest.Tasks).Int("disputes", len(c.collector.disputes)).
			Msg("reconciled: what has no result is published now")
	}
	return nil
}

// found takes tasks that were searched for: of disputes, to be counted again, and of
// results that are held, to be entered.
func (c *Coordinator) found(tasks []queens.Task, search *taskLookup) error {
	var ripe []delivery
	for i := range tasks {
		task := &tasks[i]
		if came := c.window.pending.take(task.ID); len(came) > 0 {
			c.window.track(task)
			ripe = append(ripe, came...)
		}
		c.recount(task)
	}
	return c.record(ripe, search)
}

// recountLater has the task of a dispute counted again, by others than before.
func (c *Coordinator) recount(task *queens.Task) {
	d, open := c.collector.disputes[task.ID]
	if !open {
		return // settled meanwhile
	}
	var attempt uint32
	var voters []string
	for _, v := range d.Votes {
		attempt = max(attempt, v.Attempt)
		voters = append(voters, v.Worker)
	}
	c.window.recount(task, attempt, voters)
}

// sweep looks after what should have come by now. An error ends the run: what is
// left can't be counted.
func (c *Coordinator) sweep() error {
	_, threads := c.cfg.Roster.Present()
	c.window.resize(threads)
	for _, f := range c.window.sweep() {
		c.cfg.Log.Warn().Uint64("task", f.task.ID).Uint32("attempt", f.task.Attempt).
			Msg("no result for a long time although the task is in the queue or held: publishing it again")
	}
	for _, gone := range c.cfg.Roster.Expire() {
		c.handleLost(&gone)
	}
	return c.blocked()
}

// handleLost notes a worker that has vanished, and with which tasks in its hands.
func (c *Coordinator) handleLost(worker *run.Heartbeat) {
	var held []uint64
	for _, h := range worker.Held {
		if h.Run != c.run {
			continue
		}
		held = append(held, h.Task)
		if f, aside := c.window.noteLost(h.Task, worker.Worker); aside {
			c.cfg.Log.Error().Uint64("task", h.Task).Strs("workers", f.lostWorkers).
				Msg("task set aside: workers that searched it have vanished")
		}
	}
	c.cfg.Log.Warn().Str("worker", worker.Worker).Uints64("held", held).Msg("worker vanished")
}

// blocked returns an error when nothing is left but what can't be done here: tasks set
// quarantined, and disputes for which no worker has been there for a while that could settle
// them.
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
			lines = append(lines, fmt.Sprintf("task %d was in the hands of %s when they vanished (to count it alone: coordinator ledger %s --task %d | worker task)",
				id, strings.Join(f.lostWorkers, ", "), c.run, id))
		}
	}
	slices.Sort(lines)
	for _, d := range c.collector.disputes {
		lines = append(lines, audit.DescribeDispute(d)+" (no other worker is there to count it again: start one and resume)")
	}
	return fmt.Errorf("%w: %d of %d tasks are counted; %s", queens.ErrIncomplete, c.ledger.Len(), c.collector.manifest.Tasks, strings.Join(lines, "; "))
}

// canSettle reports whether a worker is there that can settle one of the open disputes.
func (c *Coordinator) canSettle() bool {
	present := c.cfg.Roster.Names()
	for _, d := range c.collector.disputes {
		if f := c.window.inflight[d.Task]; f != nil && f.quarantined {
			continue
		}
		for _, name := range present {
			if !slices.ContainsFunc(d.Votes, func(v queens.Result) bool { return v.Worker == name }) {
				return true
			}
		}
	}
	return false
}

// How long nobody may be there to count before that is logged, and until it is again.
const (
	noWorkersDelay    = 10 * time.Second
	noWorkersInterval = 5 * time.Minute
)

// warnNoWorkers logs once in a while that nobody counts.
func (c *Coordinator) warnNoWorkers(s *run.Progress) {
	switch {
	case s.WorkerCount > 0:
		c.warnNoWorkersAt = time.Now().Add(noWorkersDelay)
	case !time.Now().Before(c.warnNoWorkersAt):
		c.warnNoWorkersAt = time.Now().Add(noWorkersInterval)
		c.cfg.Log.Warn().Msg("no worker is there to count: start one with worker --nats and the address of the server")
	}
}

func (c *Coordinator) snapshot() run.Progress {
	workers, threads := c.cfg.Roster.Present()
	s := c.meter.Measure(c.ledger.Len(), c.collector.work, c.collector.sums.Partial(), workers > 0)
	m := &c.collector.manifest
	s.Run, s.N, s.Symmetry, s.Placed, s.State = c.run, m.N, m.Symmetry, len(m.Placed), run.Running
	s.WorkerCount, s.Threads = workers, threads
	s.Workers = c.cfg.Roster.Workers()
	s.Republished, s.Conflicts = c.window.republished, len(c.ledger.Disputes())
	return s
}
