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

// loop owns the window, the books and the ledger: nothing else touches them while it
// runs.
func (c *Coordinator) loop(ctx context.Context, in *inbox, post *mail, search *finder) error {
	sweep := time.NewTicker(c.cfg.CheckAfter / 4)
	defer sweep.Stop()
	report := time.NewTicker(c.cfg.ReportEvery)
	defer report.Stop()
	always := make(chan struct{})
	close(always)
	caughtUp := in.caughtUp
	for !c.books.complete() {
		var again <-chan struct{} // blocks for ever, unless there is more to draw
		if caughtUp == nil {      // before, there may be results on the way of what would be drawn
			ripe, more := c.window.draw()
			if err := c.enter(ripe, search); err != nil {
				return err
			}
			if more {
				again = always
			}
		}
		next, ok := c.window.next()
		jobs := post.jobs
		if !ok {
			jobs = nil // blocks for ever: the window is full, or all tasks are out
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again:
		case jobs <- next:
			c.window.sent(next)
		case placed := <-post.placed:
			c.window.placed(placed)
		case a := <-in.arrivals:
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
			c.lament(&s)
		}
	}
	return nil
}

// receive enters results that have come. Those of tasks that were not drawn yet are held;
// their tasks are looked for once all has come that was there at first.
func (c *Coordinator) receive(batch []arrival, search *finder, caughtUp bool) error {
	c.books.read = batch[len(batch)-1].at
	if !caughtUp {
		search = nil
	}
	return c.enter(batch, search)
}

// enter takes a batch of results into the books, and has the tasks searched for that are
// wanted then.
func (c *Coordinator) enter(batch []arrival, search *finder) error {
	if len(batch) == 0 {
		return nil
	}
	wanted, err := c.books.enter(batch)
	if err != nil {
		return err
	}
	if search != nil {
		search.want(wanted)
	}
	c.note()
	return nil
}

// note tells those who renew the claim how far the ledger is.
func (c *Coordinator) note() {
	at := c.ledger.Position()
	c.safe.Store(&at)
	c.done.Store(c.ledger.Len())
}

// reconcile enters what was on the server when the coordinator began, and tells what
// the run goes on with.
func (c *Coordinator) reconcile(in *inbox, search *finder) error {
	for batch := in.rest(); len(batch) > 0; batch = in.rest() {
		if err := c.receive(batch, search, false); err != nil {
			return err
		}
	}
	search.want(c.window.early.ids())
	search.want(slices.Collect(maps.Keys(c.books.open)))
	c.measure()
	accepted, early := c.ledger.Len()-c.before, c.window.early.held
	if c.before > 0 || accepted > 0 || early > 0 {
		c.cfg.Log.Info().Uint64("in_ledger", c.before).Uint64("accepted_from_server", accepted).
			Int("on_server_to_be_checked", early).Uint64("duplicates", c.books.duplicates).
			Uint64("tasks", c.books.manifest.Tasks).Int("disputes", len(c.books.open)).
			Msg("reconciled: what has no result is published now")
	}
	return nil
}

// found takes tasks that were searched for: of disputes, to be counted again, and of
// results that are held, to be entered.
func (c *Coordinator) found(tasks []queens.Task, search *finder) error {
	var ripe []arrival
	for i := range tasks {
		task := &tasks[i]
		if came := c.window.early.take(task.ID); len(came) > 0 {
			c.window.known(task)
			ripe = append(ripe, came...)
		}
		c.recount(task)
	}
	return c.enter(ripe, search)
}

// recount has the task of a dispute counted again, by others than before.
func (c *Coordinator) recount(task *queens.Task) {
	d, open := c.books.open[task.ID]
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
		c.bury(&gone)
	}
	return c.blocked()
}

// bury notes a worker that has vanished, and with which tasks in its hands.
func (c *Coordinator) bury(worker *run.Heartbeat) {
	var held []uint64
	for _, h := range worker.Held {
		if h.Run != c.run {
			continue
		}
		held = append(held, h.Task)
		if f, aside := c.window.widow(h.Task, worker.Worker); aside {
			c.cfg.Log.Error().Uint64("task", h.Task).Strs("workers", f.widowed).
				Msg("task set aside: workers that searched it have vanished")
		}
	}
	c.cfg.Log.Warn().Str("worker", worker.Worker).Uints64("held", held).Msg("worker vanished")
}

// blocked returns an error when nothing is left but what can't be done here: tasks set
// aside, and disputes for which no worker has been there for a while that could settle
// them.
func (c *Coordinator) blocked() error {
	if c.window.waits() || c.judge() {
		c.idle = time.Time{}
		return nil
	}
	if c.idle.IsZero() {
		c.idle = time.Now()
	}
	if len(c.books.open) > 0 && time.Since(c.idle) < c.cfg.DisputeTimeout {
		return nil
	}
	var lines []string
	for id, f := range c.window.out {
		if f.aside {
			lines = append(lines, fmt.Sprintf("task %d was in the hands of %s when they vanished (to count it alone: coordinator ledger %s --task %d | worker task)",
				id, strings.Join(f.widowed, ", "), c.run, id))
		}
	}
	slices.Sort(lines)
	for _, d := range c.books.open {
		lines = append(lines, audit.DescribeDispute(d)+" (no other worker is there to count it again: start one and resume)")
	}
	return fmt.Errorf("%w: %d of %d tasks are counted; %s", queens.ErrIncomplete, c.ledger.Len(), c.books.manifest.Tasks, strings.Join(lines, "; "))
}

// judge reports whether a worker is there that can settle one of the open disputes.
func (c *Coordinator) judge() bool {
	present := c.cfg.Roster.Names()
	for _, d := range c.books.open {
		if f := c.window.out[d.Task]; f != nil && f.aside {
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
	lonelyAfter = 10 * time.Second
	lonelyAgain = 5 * time.Minute
)

// lament logs once in a while that nobody counts.
func (c *Coordinator) lament(s *run.Progress) {
	switch {
	case s.WorkerCount > 0:
		c.lonely = time.Now().Add(lonelyAfter)
	case !time.Now().Before(c.lonely):
		c.lonely = time.Now().Add(lonelyAgain)
		c.cfg.Log.Warn().Msg("no worker is there to count: start one with worker --nats and the address of the server")
	}
}

func (c *Coordinator) snapshot() run.Progress {
	workers, threads := c.cfg.Roster.Present()
	s := c.meter.Measure(c.ledger.Len(), c.books.work, c.books.sums.Partial(), workers > 0)
	m := &c.books.manifest
	s.Run, s.N, s.Symmetry, s.Placed, s.State = c.run, m.N, m.Symmetry, len(m.Placed), run.Running
	s.WorkerCount, s.Threads = workers, threads
	s.Workers = c.cfg.Roster.Workers()
	s.Republished, s.Conflicts = c.window.repeated, len(c.ledger.Disputes())
	return s
}
