package core

import (
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// These rules hold after every event of a simulated life. A function that checks one rule has the
// name of what must hold.

// check checks the rules that hold at every moment.
func (w *world) check() {
	if w.host == nil {
		return
	}
	c := w.host.core
	w.checkTasks(c)
	w.holdsHaveTheirTasks(c.queue)
	w.checkSums(c)
	if w.host.lastTick == w.now { // it has run since the last event
		w.checkWorkers(c)
	}
	w.runEndsSoon(c)
	w.bannedAreWrong(c)
}

// placed is a task, and where the core has it.
type placed struct {
	task   uint64
	need   need
	by     queens.Witness // has counted it
	waits  int            // the number of groups in which it waits
	waitIn queens.Witness // the last of these groups
	holds  []*hold
}

func placeOf(c *Core, task uint64) *placed {
	p := &placed{task: task, need: c.judge.need(task), by: c.state.Counter(task).Witness(),
		holds: c.queue.holders[task]}
	for by, set := range c.queue.groups {
		if set.has(task) {
			p.waits++
			p.waitIn = by
		}
	}
	return p
}

// checkTasks checks each task.
func (w *world) checkTasks(c *Core) {
	undone, disputed := uint64(0), false
	for task := range w.header.Manifest.Tasks {
		p := placeOf(c, task)
		w.isInOnePlace(p)
		w.waitsInItsGroup(p)
		w.holdersMayCount(c, p)
		outcome := c.state.Task(task)
		if outcome.NeedsRecount != c.judge.unsettled[task] {
			w.fail("task %d needs a recount: %v, and awaits one: %v", task, outcome.NeedsRecount,
				c.judge.unsettled[task])
		}
		if !outcome.Done {
			undone++
			disputed = disputed || outcome.NeedsRecount
		}
	}
	if undone != w.header.Manifest.Tasks-c.state.NumberDone() {
		w.fail("%d tasks are not done, and %d are done", undone, c.state.NumberDone())
	}
	if c.over == nil && disputed && c.judge.running == nil {
		w.fail("a task is in dispute and no recount runs")
	}
}

// isInOnePlace checks that a task that needs a count by a worker waits once or is held, and that no
// other task does.
func (w *world) isInOnePlace(p *placed) {
	switch {
	case p.waits > 1, p.waits == 1 && len(p.holds) > 0:
		w.fail("task %d waits %d times and is held %d times", p.task, p.waits, len(p.holds))
	case p.need.byWorker() && p.waits == 0 && len(p.holds) == 0:
		w.fail("task %d neither waits nor is held", p.task)
	case !p.need.byWorker() && (p.waits > 0 || len(p.holds) > 0):
		w.fail("task %d, which needs no worker, waits or is held", p.task)
	}
}

// waitsInItsGroup checks that a task that waits is in the group of the witness that has counted it.
func (w *world) waitsInItsGroup(p *placed) {
	if p.waits > 0 && p.waitIn != p.by {
		w.fail("task %d, which %v have counted, waits as if %v had", p.task, p.by, p.waitIn)
	}
}

// holdersMayCount checks that no witness that has counted a task holds it, and no banned machine.
func (w *world) holdersMayCount(c *Core, p *placed) {
	for _, h := range p.holds {
		machine := h.holder.Machine
		if machine.Witness() == p.by {
			w.fail("task %d is held by machine %s, whose witness has counted it", p.task, machine)
		}
		if c.state.Banned(machine) {
			w.fail("the banned machine %s holds task %d", machine, p.task)
		}
		if c.queue.holds[h.holder][h.Range] != h ||
			!h.Contains(queens.Range{First: p.task, Tasks: 1}) {
			w.fail("the hold %v of %v is not known", h.Range, h.holder)
		}
	}
}

// holdsHaveTheirTasks checks that each hold has the number of tasks that say that they are in it.
func (w *world) holdsHaveTheirTasks(q *queue) {
	for p, holds := range q.holds {
		for r, h := range holds {
			left := uint64(0)
			for task := r.First; task < r.End(); task++ {
				if slices.Contains(q.holders[task], h) {
					left++
				}
			}
			if left != h.left || left == 0 || h.Range != r || h.holder != p {
				w.fail("the hold %v of %v has %d tasks left, not %d", r, p, left, h.left)
			}
		}
	}
}

// bannedAreWrong checks that no honest machine is banned.
func (w *world) bannedAreWrong(c *Core) {
	for _, b := range c.state.Bans() {
		if !w.isWrong(b.Machine) {
			w.fail("the honest machine %s is banned", b.Machine)
		}
	}
}

// runEndsSoon checks that a run ends soon after every task is done: it may wait for checks for a
// fiftieth of its time.
func (w *world) runEndsSoon(c *Core) {
	if c.over != nil || c.state.NumberDone() < w.header.Manifest.Tasks || c.judge.running != nil ||
		c.totalOf != 0 {
		w.host.done = 0
		return
	}
	if w.host.done == 0 {
		w.host.done = c.clock.wall
	}
	if waited := c.clock.wall - w.host.done; waited > c.clock.wall/50+time.Second {
		w.fail("every task is done, and the run has waited for %v", waited)
	}
}

// checkWorkers checks each worker process that is remembered. A core that was stopped hears nobody.
func (w *world) checkWorkers(c *Core) {
	isStopped := c.over != nil && !c.over.State.Ended()
	for _, p := range c.fleet.workers {
		if !p.present && !p.request.Leaving && !isStopped {
			w.isNotSilentEarly(p)
			w.isNotSilentAfterGap(p)
		}
		if w.now < w.host.frozen {
			continue
		}
		if p.present && c.over == nil {
			w.becomesSilent(c, p)
		}
		if p.kept {
			w.isToldToDrop(c, p)
			w.isAnswered(p)
			w.getsWaitingWork(c, p)
		}
	}
}

// lastHeard returns how long ago the coordinator got the last message of a worker.
func (w *world) lastHeard(p *worker) time.Duration {
	return w.now - w.heard[p.process.Name].at
}

// isNotSilentEarly checks that a silent worker was not heard for 20 s.
func (w *world) isNotSilentEarly(p *worker) {
	if since := w.lastHeard(p); since < 20*time.Second {
		w.fail("worker %s is silent, and was heard %v ago", p.process.Name, since)
	}
}

// isNotSilentAfterGap checks that a worker that was present in a gap is present for 30 s more.
func (w *world) isNotSilentAfterGap(p *worker) {
	silentAt, since := p.heard+20*time.Second, w.now-w.host.gap
	if silentAt > w.host.gap && since < 30*time.Second && w.now < silentAt+time.Second {
		w.fail("worker %s is silent %v after a gap", p.process.Name, since)
	}
}

// becomesSilent checks that a worker that holds something was heard in the last 20 s, or in those
// before a gap and the 30 s after it.
func (w *world) becomesSilent(c *Core, p *worker) {
	since, most := w.lastHeard(p), 51*time.Second
	if len(c.queue.holds[p.process]) > 0 && c.fleet.connected && since > most &&
		w.now-w.host.gap > most {
		w.fail("worker %s was heard %v ago and is not silent", p.process.Name, since)
	}
}

// isToldToDrop checks that a worker with a kept request holds what it lists, except what it has
// delivered since. It would have been told to drop anything else.
func (w *world) isToldToDrop(c *Core, p *worker) {
	by, isProc := p.request.Origin.(*proc)
	if !isProc || by.asked != p.request.Number {
		return
	}
	for _, r := range by.listed {
		if c.queue.holds[p.process][r] == nil && !by.delivered[r] {
			w.fail("%s is not told to drop %v: %v, %v, drops %v", p.process.Name, r,
				c.queue.holders[r.First], c.state.Counter(r.First), p.drops)
		}
	}
}

// isAnswered checks that a request is kept for 5 s, and little longer.
func (w *world) isAnswered(p *worker) {
	if w.now-p.waits > 7500*time.Millisecond && w.now-w.host.gap > 5*time.Second {
		w.fail("%s waits for an answer for %v", p.process.Name, w.now-p.waits)
	}
}

// getsWaitingWork checks that no request for work is kept while work waits that its worker may get,
// unless the next input looks at the request.
func (w *world) getsWaitingWork(c *Core, p *worker) {
	machine := p.process.Machine
	mayGet := p.wants() && c.accepts(machine) && !c.hoards(p) && c.mostChunks(p) > 0 &&
		c.queue.room(machine.User) > 0 && !c.changed
	handsOut := c.over == nil && w.now > c.clock.handOut+time.Second/2 &&
		w.now-w.host.gap > time.Second
	if _, _, waits := c.queue.lowest(machine.Witness()); waits && mayGet && handsOut {
		w.fail("work waits for %s, whose request is kept", p.process.Name)
	}
}
