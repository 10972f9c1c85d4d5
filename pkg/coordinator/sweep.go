package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// sweep has overdue tasks checked or republished, and handles lost workers. It returns an
// error if the workers connected can't complete the run.
func (c *Coordinator) sweep() error {
	// A task whose result is here is not overdue.
	if err := c.receive(c.drainDeliveries()); err != nil || c.collector.complete() {
		return err
	}
	if !c.window.onlyChecks() { // or not any more: results became void
		c.ownChecks, c.checker.endSince = false, time.Time{}
	}
	gone := c.cfg.Roster.Expire()
	idle := c.cfg.Roster.Idle() > 0
	lost, expired := c.window.sweep(c.cfg.Roster.Held(c.run, c.refusesWorker), idle, c.caughtUp)
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
	c.warnAway()
	c.warnHeld(idle)
	for _, worker := range gone {
		c.handleLost(&worker)
	}
	if more := c.lostWorkers.Dropped(); more > 0 {
		c.cfg.Log.Warn().Int("workers", more).Msg("more workers were lost than the log names")
	}
	c.lookUpDisputed()
	c.countLost()
	return c.blocked()
}

// refusesWorker reports whether nothing is accepted from a worker: what it holds is not held.
func (c *Coordinator) refusesWorker(i progress.Identity) bool {
	return c.trust.refusal(i.Key, i.Admission) != nil
}

// withdrawRefused publishes chunks again at once, if every worker that holds them is one whose results the run
// refuses.
func (c *Coordinator) withdrawRefused() {
	held := c.cfg.Roster.Held(c.run, c.refusesWorker)
	for id := range c.cfg.Roster.Held(c.run, func(i progress.Identity) bool { return !c.refusesWorker(i) }) {
		if chunk := c.window.chunks[id]; chunk != nil && held[id].IsZero() && chunk.streamSeq != 0 {
			c.window.withdrawChunk(chunk, whole)
		}
	}
}

// handleLost notes a lost worker on the tasks that it was searching. A loss gets a task out of the queue only
// if the key of the worker has accepted results in this run: anybody can claim to search a chunk, and fall
// silent.
func (c *Coordinator) handleLost(worker *run.Heartbeat) {
	var searched []uint64
	for _, h := range worker.Held {
		chunk := c.window.chunks[h.Chunk]
		if h.Run != c.run || !h.Searching || chunk == nil || slices.Contains(searched, chunk.first) {
			continue
		}
		searched = append(searched, chunk.first)
		l := loss{worker.Key, worker.Worker, c.ledger.Chunks(worker.Key) > 0}
		if task, workers := c.window.noteLost(h.Chunk, l); workers != nil {
			c.cfg.Log.Error().Uint64("task", task).Strs("workers", workers).
				Msg("task dead-lettered: workers of three keys were lost while searching it. No worker gets it any more; the coordinator counts it at the end")
		}
	}
	if c.lostWorkers.Allow() {
		c.cfg.Log.Warn().Str("worker", worker.Worker).Str("key", worker.Key).
			Uints64("held", searched[:min(len(searched), maxLogged)]).Msg("worker lost")
	}
}

// maxLogged bounds the tasks that one line of the log, or an error, names.
const maxLogged = 10

// warnAway logs that chunks were away.
func (c *Coordinator) warnAway() {
	if c.window.away > 0 && c.limiter.Allow("away") {
		c.cfg.Log.Warn().Int("chunks", c.window.away).
			Msg("workers have taken chunks from the queue, and none that is connected holds them: publishing them again. If this repeats, " +
				"a worker takes chunks and counts nothing: end it with coordinator keys revoke and its name, or replace the join token; " +
				"where the server asks for no keys, count on one that does")
		c.window.away = 0
	}
}

// A worker that holds chunks while others are idle is logged every heldInterval, once it has reported no result
// for heldDelay, and for heldSearches times the longest search so far.
const (
	heldDelay    = time.Minute
	heldSearches = 20
	heldInterval = 5 * time.Minute
)

// warnHeld logs which worker keeps others idle.
func (c *Coordinator) warnHeld(idle bool) {
	now := time.Now()
	if !idle || now.Before(c.warnHeldAt) {
		return
	}
	after := max(heldDelay, min(c.window.longest, heldInterval)*heldSearches)
	worker, found := c.cfg.Roster.HeldWithoutResult(c.run, after)
	if !found {
		return
	}
	c.warnHeldAt = now.Add(heldInterval)
	c.cfg.Log.Warn().Str("worker", worker.Name).Str("key", worker.Key).Int("chunks", worker.Chunks).
		Stringer("without_result", now.Sub(worker.Since).Round(time.Second)).
		Msg("workers are idle while one holds chunks and reports no result. If it is not just slow, end it: stop it, or run coordinator keys revoke " +
			"and its name; where the server asks for no keys, count on one that does")
}

// blocked returns an error if only dead-lettered and disputed tasks are left, the coordinator could not
// count those, and for DisputeTimeout no worker was connected that can settle a dispute.
func (c *Coordinator) blocked() error {
	if c.window.hasWork() || len(c.refereeable(1)) > 0 || c.canSettleAny() || c.ledger.IsVoiding() || c.alone.open {
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
	for _, id := range slices.Sorted(maps.Keys(c.window.tasks)) {
		if t := c.window.tasks[id]; t.deadLettered {
			lines = append(lines, c.describeLost(id, t))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.collector.disputes)) {
		lines = append(lines, audit.DescribeDispute(c.collector.disputes[id])+" (no other worker is connected to count it again: start one and resume)")
	}
	if more := len(lines) - maxLogged; more > 0 {
		lines = append(lines[:maxLogged], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%w: %d of %d tasks are counted; %s", queens.ErrIncomplete, c.ledger.Len(), c.collector.manifest.Tasks, strings.Join(lines, "; "))
}

// canSettleAny reports whether a voter is connected that can settle one of the open disputes.
func (c *Coordinator) canSettleAny() bool {
	for _, d := range c.collector.disputes {
		if c.canSettle(d) {
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
