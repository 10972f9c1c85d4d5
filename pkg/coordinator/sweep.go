package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/audit"
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
		c.handleLost(&worker)
	}
	c.lookUpDisputed()
	return c.blocked()
}

// handleLost notes a lost worker on the tasks that it was searching.
func (c *Coordinator) handleLost(worker *run.Heartbeat) {
	var searched []uint64
	for _, h := range worker.Held {
		chunk := c.window.chunks[h.Chunk]
		if h.Run != c.run || !h.Searching || chunk == nil || slices.Contains(searched, chunk.first) {
			continue
		}
		searched = append(searched, chunk.first)
		if task, workers := c.window.noteLost(h.Chunk, worker.Worker); workers != nil {
			c.cfg.Log.Error().Uint64("task", task).Strs("workers", workers).
				Msg("task quarantined: workers were lost while searching it")
		}
	}
	c.cfg.Log.Warn().Str("worker", worker.Worker).Uints64("held", searched).Msg("worker lost")
}

// blocked returns an error if only quarantined and disputed tasks are left, and for
// DisputeTimeout no worker was connected that can settle a dispute.
func (c *Coordinator) blocked() error {
	if c.window.hasWork() || len(c.refereeable(1)) > 0 || c.canSettleAny() || c.ledger.IsVoiding() {
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
