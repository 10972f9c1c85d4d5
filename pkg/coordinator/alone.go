package coordinator

import (
	"fmt"
	"strings"
	"time"

	"nqueens/pkg/run"
)

// A task that lost three workers is counted by the coordinator before the run gives it up: last, when
// nothing else is left to do, one at a time, and in a process of its own, since it may kill that too. So
// are tasks that lost three workers of fewer keys, or of keys without results, while workers still get
// them: a fleet may have one key, and a worker that is started again a new one each time. These wait until
// no worker has counted anything for lostPatience: the losses may be invented.
const lostPatience = time.Minute

// alone is what is known of these counts.
type alone struct {
	counting bool
	failed   map[uint64]error // tasks that could not be counted, and why
}

// countLost has the next task that lost workers counted, if nothing else is left to do.
func (c *core) countLost(now time.Time) {
	open, stuck := c.agreement.Disputes()
	if c.cfg.Alone == nil || c.alone.counting || !c.reconciled || c.ledger.IsRevoking() || stuck < open || c.agreement.Lacking() > 0 {
		return
	}
	// Where several keys must agree, a count of the coordinator alone would take the place of keys that are
	// only away.
	waits := min(now.Sub(c.started), now.Sub(c.agreement.GainedAt())) < lostPatience || c.trust.Redundancy > 1
	id, found := c.flight.NextLost(waits, c.isOther, func(id uint64) bool { return c.alone.failed[id] != nil })
	if !found {
		return
	}
	c.alone.counting = true
	c.own = append(c.own, ownCount{kind: aloneCount, task: id})
}

// isOther reports whether a task in flight is counted for a spot check or a dispute.
func (c *core) isOther(id uint64) bool { return c.agreement.IsDone(id) || c.agreement.IsDisputed(id) }

// countedAlone records the count of a task that lost workers, or gives the task up.
func (c *core) countedAlone(now time.Time, id uint64, count run.TaskCount, failed error) error {
	c.alone.counting = false
	if failed != nil {
		c.alone.failed[id] = failed
		c.cfg.Log.Error().Err(failed).Uint64("task", id).
			Msg("the coordinator can't count a task either that lost workers: the run has to end without it")
		c.flight.DeadLetter(now, id)
		c.agreement.Withdrawn(now, id)
	} else {
		c.cfg.Log.Info().Uint64("task", id).Str("kernel", count.Kernel).Stringer("took", count.Elapsed.Round(time.Millisecond)).
			Msg("a task that lost workers is counted")
		if err := c.ledger.SetAlone(id); err != nil {
			return err
		}
		if err := c.recordOwn(now, id, run.Referee, count); err != nil {
			return err
		}
	}
	c.countLost(now)
	return c.carryOut(now)
}

// describeLost says for people what is known of a task that is given up.
func (c *core) describeLost(id uint64) string {
	own := ""
	if err := c.alone.failed[id]; err != nil {
		own = fmt.Sprintf(", and the coordinator's own count failed: %.200s", err)
	}
	return fmt.Sprintf("workers %s were lost while searching task %d%s (to count it alone: coordinator ledger %s --task %d | worker task)",
		strings.Join(c.flight.LostWorkers(id), ", "), id, own, c.run, id)
}
