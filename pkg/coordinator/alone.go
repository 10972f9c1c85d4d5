package coordinator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nqueens/pkg/queens"
)

// A task that lost three workers is counted by the coordinator before the run gives it up: last, when
// nothing else is left to do, one at a time, and in a process of its own, since it may kill that too. So
// are tasks that lost three workers of fewer keys, or of keys without results, while workers still get
// them: a fleet may have one key, and a worker that is started again a new one each time. These wait until
// no worker has counted anything for lostPatience: the losses may be invented.
const lostPatience = time.Minute

// alone is the state of these counts. It belongs to the event loop.
type alone struct {
	open   bool             // the task is looked up or being counted
	task   uint64           // last
	found  bool             // it was looked up
	failed map[uint64]error // tasks that could not be counted, and why

	counted uint64    // tasks counted so
	others  uint64    // tasks with a result that others have counted
	since   time.Time // of the last change of others

	tasks    chan queens.Task // for aloneLoop; it has room for one
	verdicts chan verdict
}

func newAlone() alone {
	return alone{failed: make(map[uint64]error), since: time.Now(), tasks: make(chan queens.Task, 1), verdicts: make(chan verdict)}
}

// countLost has the next task that lost workers counted, if nothing else is left to do.
func (c *Coordinator) countLost() {
	if c.cfg.Alone == nil || c.alone.open || !c.reconciled || c.ledger.IsVoiding() || len(c.refereeable(1)) > 0 || c.canSettleAny() {
		return
	}
	if others := c.ledger.Len() - c.alone.counted; others != c.alone.others {
		c.alone.others, c.alone.since = others, time.Now()
	}
	// Where several keys must agree, a count of the coordinator alone would take the place of keys that are
	// only away.
	waits := time.Since(c.alone.since) < lostPatience || c.trust.Redundancy > 1
	id, found := c.window.nextLost(func(id uint64) bool {
		return c.alone.failed[id] != nil || waits && !c.window.tasks[id].deadLettered
	})
	if !found {
		return
	}
	c.alone.open, c.alone.task, c.alone.found = true, id, false
	c.wanted = append(c.wanted, id)
}

// foundLost takes a task that was looked up, if it is the one to count.
func (c *Coordinator) foundLost(task *queens.Task) {
	if a := &c.alone; a.open && !a.found && a.task == task.ID {
		a.found = true
		named := *task
		named.Run = c.run
		a.tasks <- named // there is room: the one before was counted
	}
}

// aloneLoop counts tasks that lost workers, one at a time, until ctx ends.
func (c *Coordinator) aloneLoop(ctx context.Context) error {
	for {
		select {
		case task := <-c.alone.tasks:
			c.cfg.Log.Warn().Uint64("task", task.ID).
				Msg("counting a task that lost workers in a process of its own, which may take a while")
			v := verdict{task: task}
			v.count, v.err = c.cfg.Alone(ctx, &task)
			send(ctx, c.alone.verdicts, v)
		case <-ctx.Done():
			return nil
		}
	}
}

// countedLost records the count of a task that lost workers, or gives the task up.
func (c *Coordinator) countedLost(v *verdict) error {
	c.alone.open = false
	if v.err != nil {
		c.alone.failed[v.task.ID] = v.err
		c.cfg.Log.Error().Err(v.err).Uint64("task", v.task.ID).
			Msg("the coordinator can't count a task either that lost workers: the run has to end without it")
		if t := c.window.tasks[v.task.ID]; t != nil && !t.deadLettered {
			c.window.deadLetter(t)
		}
	} else {
		c.cfg.Log.Info().Uint64("task", v.task.ID).Str("kernel", v.count.Kernel).Stringer("took", v.count.Elapsed.Round(time.Millisecond)).
			Msg("a task that lost workers is counted")
		before := c.ledger.Len()
		if err := c.ledger.SetAlone(v.task.ID); err != nil {
			return err
		}
		own := queens.ChunkResult{Run: c.run, First: v.task.ID, Worker: queens.Referee, Counts: []queens.TaskCount{v.count}}
		if err := c.record([]taskDelivery{{result: own.Result(0, 0)}}); err != nil {
			return err
		}
		c.alone.counted += c.ledger.Len() - before
	}
	c.countLost()
	return nil
}

// describeLost says for people what is known of a task that is given up.
func (c *Coordinator) describeLost(id uint64, t *inflightTask) string {
	own := ""
	if err := c.alone.failed[id]; err != nil {
		own = fmt.Sprintf(", and the coordinator's own count failed: %.200s", err)
	}
	return fmt.Sprintf("workers %s were lost while searching task %d%s (to count it alone: coordinator ledger %s --task %d | worker task)",
		strings.Join(t.lostWorkers(), ", "), id, own, c.run, id)
}
