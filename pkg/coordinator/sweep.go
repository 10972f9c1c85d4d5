package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/run"
)

// sweep has overdue chunks checked or published again, and handles lost workers. It returns an
// error if the workers connected can't complete the run.
func (c *core) sweep(now time.Time) error {
	if c.isComplete() {
		return nil
	}
	gone := c.cfg.Roster.Expire()
	workers := c.workers()
	swept := c.flight.Sweep(now, c.cfg.Roster.Held(c.run, c.refusesWorker), workers, c.caughtUp)
	c.journal.swept(c, &swept)
	c.journal.held(c, now, workers == flight.Idle)
	for i := range gone {
		c.handleLost(now, &gone[i])
	}
	c.countLost(now)
	if err := c.carryOut(now); err != nil {
		return err
	}
	return c.blocked(now)
}

// workers returns what the workers connected do.
func (c *core) workers() flight.Workers {
	switch fleet := c.cfg.Roster.Present(); {
	case fleet.Threads == 0: // workers that pause take nothing either
		return flight.Nobody
	case fleet.Idle > 0:
		return flight.Idle
	}
	return flight.Busy
}

// handleLost notes a lost worker on the tasks that it was searching. A loss gets a task out of the queue only
// if the key of the worker has accepted results in this run: anybody can claim to search a chunk, and fall
// silent.
func (c *core) handleLost(now time.Time, worker *run.Heartbeat) {
	var searched []uint64
	loss := flight.Loss{Key: worker.Key, Worker: worker.Worker, Known: c.ledger.Chunks(worker.Key) > 0 && !c.ledger.IsQuarantined(worker.Key)}
	for _, h := range worker.Held {
		first, ok := c.flight.Chunk(h.Chunk)
		if h.Run != c.run || !h.Searching || !ok || slices.Contains(searched, first) {
			continue
		}
		searched = append(searched, first)
		for _, dead := range c.flight.Lost(now, h.Chunk, loss) {
			if !c.agreement.IsDone(dead.Task) { // a spot check is not worth that
				c.cfg.Log.Error().Uint64("task", dead.Task).Strs("workers", dead.Workers).
					Msg("task dead-lettered: workers of three keys were lost while searching it. No worker gets it any more; the coordinator counts it at the end")
			}
			c.agreement.Withdrawn(now, dead.Task)
		}
	}
	c.journal.lostWorker(c, worker, searched)
}

// maxLogged bounds the tasks that one line of the log, or an error, names.
const maxLogged = 10

// blocked returns an error if only dead-lettered and disputed tasks are left, the coordinator could not
// count those, and for DisputeTimeout no worker was connected that can settle a dispute.
func (c *core) blocked(now time.Time) error {
	open, stuck := c.agreement.Disputes()
	given, disputed := c.flight.DeadLettered(), c.agreement.OpenDisputes()
	lost := slices.DeleteFunc(slices.Clone(given), c.agreement.IsDisputed)
	left := c.manifest.Tasks - c.agreement.Done()
	if !c.reconciled || left == 0 || left > uint64(len(lost)+len(disputed)) || stuck < open || c.alone.counting || c.ledger.IsRevoking() || c.flight.IsWithdrawing() {
		c.blockedSince = time.Time{}
		return nil
	}
	if c.blockedSince.IsZero() {
		c.blockedSince = now
	}
	if len(disputed) > 0 && now.Sub(c.blockedSince) < c.cfg.DisputeTimeout {
		return nil
	}
	var lines []string
	for _, id := range given {
		lines = append(lines, c.describeLost(id))
	}
	for _, id := range disputed {
		lines = append(lines, audit.DescribeDispute(c.ledger.Dispute(id))+" (no other worker is connected to count it again: start one and resume)")
	}
	if more := len(lines) - maxLogged; more > 0 {
		lines = append(lines[:maxLogged], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%w: %d of %d tasks are counted; %s", run.ErrIncomplete, c.ledger.Len(), c.manifest.Tasks, strings.Join(lines, "; "))
}
