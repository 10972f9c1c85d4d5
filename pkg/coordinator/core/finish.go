package core

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// startRecount starts a recount if one is due and none runs. It recounts the lowest task that needs
// a recount. If there is none, it recounts the task that c.lost returns.
func (c *Core) startRecount(now time.Duration) {
	if c.judge.running != nil {
		return
	}
	task, found := c.judge.lowest()
	if !found {
		task, found = c.lost()
	}
	if !found {
		return
	}
	why := ledger.LostWorkers
	if c.judge.isDispute(task) {
		why = ledger.Disputed
	}
	c.recount(now, task, why)
}

// lost returns the lowest task that needs a count and that workers have lost lostAlone times or
// more.
func (c *Core) lost() (lowest uint64, found bool) {
	for task := range c.queue.often {
		if c.judge.need(task) == needCount && (!found || task < lowest) {
			lowest, found = task, true
		}
	}
	return lowest, found
}

// recount starts a recount of a task. If no way to recount it is left, the run stops.
func (c *Core) recount(now time.Duration, task uint64, why ledger.Why) {
	c.judge.running = c.judge.way(task, why)
	c.out.Recount = c.judge.running
	if c.out.Recount == nil {
		c.fail(now, "every kernel of this machine fails on task %d: resume the run on another machine",
			task)
	}
}

// RecountDone handles the end of the commanded recount. err says why there is no count, for example
// because the child process died, or its search no longer advanced. If err wraps
// [queens.ErrIncomplete], no recount can be made here, and the run stops.
func (c *Core) RecountDone(now time.Duration, count uint64, err error) {
	c.advance(now)
	r := c.judge.running
	c.judge.running = nil
	switch {
	case c.over != nil:
	case errors.Is(err, queens.ErrIncomplete):
		c.Stop(now, err)
	case err != nil:
		c.judge.died = append(c.judge.died, *r)
		c.line(true, "the recount of task %d by kernel %s failed: %v", r.Task, r.way(), err)
	default:
		c.judge.died = nil
		c.line(false, "task %d is recounted (%s): %d, by kernel %s", r.Task, r.Why, count, r.way())
		c.record(now, &ledger.Recount{
			Task: r.Task, Count: count, Machine: c.options.Machine, Kernel: r.Kernel, Deeper: r.Deeper,
			Why: r.Why, At: c.at(now),
		}, nil)
		c.checkMachine(now)
	}
	c.after(now)
}

// finish commands the total when every task is done, and no recount or spot check is awaited. If a
// run with spot checks has no checked task and no published total, finish commands a recount of one
// task first, which the secret draws.
func (c *Core) finish(now time.Duration) {
	h := c.state.Header()
	if c.totalOf != 0 || c.over != nil || c.judge.running != nil || len(c.judge.unsettled) > 0 {
		return
	}
	if !c.allDone() {
		c.clock.onlyChecks = 0
		return
	}
	if c.awaitsChecks() {
		return
	}
	if tasks := h.Manifest.Tasks; tasks > 0 && c.judge.draw.share > 0 && c.state.Checked() == 0 &&
		h.Manifest.KnownTotal() == nil {
		c.recount(now, c.judge.draw.last(tasks), ledger.SpotCheck)
		return
	}
	c.totalOf, c.out.OnDisk.Total = c.state.Results()+1, true
}

// awaitsChecks reports whether the end of the run waits for spot checks. The end waits for at most
// a fiftieth of the run's time, and only while a task is held or a present machine can make a
// check. After that, awaitsChecks gives up all checks.
func (c *Core) awaitsChecks() bool {
	if len(c.judge.checks) == 0 {
		return false
	}
	if c.clock.onlyChecks == 0 {
		c.clock.onlyChecks = c.clock.wall
	}
	inTime := float64(c.clock.wall-c.clock.onlyChecks) <= checksAtEnd*float64(c.clock.wall)
	if inTime && (len(c.queue.holders) > 0 || c.waitsForAny()) {
		return true
	}
	for _, task := range slices.Sorted(maps.Keys(c.judge.checks)) {
		delete(c.judge.checks, task)
		c.settle(task, nil)
	}
	return false
}

// TotalDone handles the commanded total. err wraps [queens.ErrContradiction] if the total is not
// the published one, or two ways to compute it differ.
func (c *Core) TotalDone(now time.Duration, total *big.Int, err error) {
	c.advance(now)
	current := c.totalOf == c.state.Results()+1 && c.allDone() && len(c.judge.unsettled) == 0
	c.totalOf = 0
	switch {
	case c.over != nil || !current: // a result has come meanwhile: the total is computed again
	case err == nil:
		c.end(now, queens.Complete, total, nil)
	case errors.Is(err, queens.ErrContradiction):
		c.line(true, "there is no total: %v", err)
		c.end(now, queens.Contradicted, nil, err)
	default:
		c.Stop(now, err)
	}
	c.after(now)
}

// Stop ends the run here so that it can be resumed. err is nil if a person or a service manager
// stops the run. Otherwise err says what is wrong, such as an error of the ledger.
func (c *Core) Stop(now time.Duration, err error) {
	c.advance(now)
	if c.over == nil {
		c.end(now, queens.Stopped, nil, err)
	}
}

// fail stops the run with an error that wraps [queens.ErrIncomplete] and has the formatted text.
func (c *Core) fail(now time.Duration, format string, args ...any) {
	c.Stop(now, fmt.Errorf("%w: "+format, append([]any{queens.ErrIncomplete}, args...)...))
}

// end ends the run here. If the run is complete or contradicted, the announcement tells workers to
// drop what they hold, and their requests are answered. If it only stops, they go on.
func (c *Core) end(now time.Duration, state queens.State, total *big.Int, err error) {
	c.mark(now, state, total)
	c.over = &End{State: state, Total: total, Err: err}
	c.out.OnDisk.End, c.out.Announce = c.over, now >= c.clock.open
	for _, w := range c.fleet.first(c.fleet.kept, mostWorkers) {
		if state.Ended() {
			c.answer(w, nil)
		} else {
			c.fleet.keep(w, false)
		}
	}
}

// mark records how far the run is.
func (c *Core) mark(now time.Duration, state queens.State, total *big.Int) {
	c.clock.mark, c.clock.marked = now, c.state.Results()
	c.record(now, &ledger.Mark{
		State: state, At: c.at(now), Wall: c.clock.wall, Done: c.state.NumberDone(), Work: c.workDone(),
		Solutions: (*queens.Decimal)(c.state.Solutions()), Total: (*queens.Decimal)(total),
	}, nil)
}

// workDone returns the part of the estimated work that is done.
func (c *Core) workDone() float64 {
	return split.WorkDone(&c.state.Header().Manifest, c.options.Shares, c.state.DoneByClass())
}
