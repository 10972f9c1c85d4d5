package coordinator

import (
	"context"
	"errors"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// A disputed task is counted by this process, if that takes at most refereeTimeout. Its count
// decides. Otherwise further workers count the task, as long as the ledger takes their votes; then
// this process counts it however long it takes. At most maxRefereed tasks are in memory for
// that; the other disputes wait.
const (
	refereeTimeout = time.Minute
	maxRefereed    = 16
)

// referee is the state of the counting of disputed tasks. It belongs to the event loop.
type referee struct {
	waiting []disputedTask
	open    map[uint64]bool // tasks that wait or are being counted

	tasks    chan disputedTask // for refereeLoop
	verdicts chan verdict
}

// disputedTask is a task to count.
type disputedTask struct {
	task      queens.Task
	unlimited bool // however long it takes
}

// verdict is the coordinator's own count of a disputed task.
type verdict struct {
	task  queens.Task
	count queens.TaskCount
	err   error
}

func newReferee() referee {
	return referee{
		open: make(map[uint64]bool), tasks: make(chan disputedTask), verdicts: make(chan verdict),
	}
}

// take takes a disputed task to count, unless it has it already or has too many.
func (r *referee) take(task *queens.Task, unlimited bool) {
	if !r.open[task.ID] && len(r.open) < maxRefereed {
		r.open[task.ID] = true
		r.waiting = append(r.waiting, disputedTask{*task, unlimited})
	}
}

// next returns the channel for the next task, or nil if none waits.
func (r *referee) next() (to chan<- disputedTask, task disputedTask) {
	if len(r.waiting) == 0 {
		return nil, task
	}
	return r.tasks, r.waiting[0]
}

// sent notes that the task of next was sent.
func (r *referee) sent() { r.waiting = r.waiting[1:] }

// refereeLoop counts disputed tasks, one at a time, until ctx ends.
func (c *Coordinator) refereeLoop(ctx context.Context) error {
	for {
		select {
		case d := <-c.referee.tasks:
			v := verdict{task: d.task}
			limited, cancel := ctx, context.CancelFunc(func() {})
			if !d.unlimited {
				limited, cancel = context.WithTimeout(ctx, refereeTimeout)
			}
			v.count, v.err = c.cfg.Referee(limited, &d.task)
			cancel()
			send(ctx, c.referee.verdicts, v)
		case <-ctx.Done():
			return nil
		}
	}
}

// canReferee reports whether this process can count a disputed task, as far as it knows.
func (c *Coordinator) canReferee(id uint64) bool {
	failed, d := c.collector.unrefereed[id], c.collector.disputes[id]
	if t := c.window.tasks[id]; t != nil && t.deadLettered { // it may kill this process, see countLost
		return false
	}
	return c.cfg.Referee != nil && (failed == nil || errors.Is(failed, errTooLong) && d != nil && d.IsFull())
}

// refereeable returns some disputed tasks that this process can count.
func (c *Coordinator) refereeable(most int) (ids []uint64) {
	for id := range c.collector.disputes {
		if len(ids) == most {
			break
		}
		if c.canReferee(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// judge records the count of a disputed task, or has workers count the task. Then it has the next
// disputed tasks looked up.
func (c *Coordinator) judge(v *verdict) error {
	delete(c.referee.open, v.task.ID)
	if v.err != nil {
		c.giveUp(v)
	} else {
		own := queens.ChunkResult{Run: c.run, First: v.task.ID, Worker: queens.Referee, Counts: []queens.TaskCount{v.count}}
		if err := c.record([]taskDelivery{{result: own.Result(0, 0)}}); err != nil {
			return err
		}
	}
	if len(c.referee.open) == 0 {
		c.wanted = append(c.wanted, c.refereeable(maxRefereed)...)
	}
	return nil
}

// giveUp has a disputed task that this process can't count settled by the votes of workers.
func (c *Coordinator) giveUp(v *verdict) {
	reason := v.err
	if errors.Is(reason, context.DeadlineExceeded) {
		reason = errTooLong
	}
	c.cfg.Log.Warn().Uint64("task", v.task.ID).AnErr("reason", reason).
		Msg("the coordinator can't settle the conflict itself: other workers count the task again")
	c.collector.unrefereed[v.task.ID] = reason
	for _, id := range c.collector.updateDisputes([]uint64{v.task.ID}) {
		if c.canReferee(id) {
			c.referee.take(&v.task, true)
		} else {
			c.recount(&v.task, c.collector.disputes[id])
		}
	}
	if errors.Is(reason, errTooLong) {
		c.giveUpClass(c.collector.manifest.ClassOf(v.task.ID))
	}
}

// giveUpClass has the other disputed tasks of a class settled by the votes of workers: one of them
// takes this process too long.
func (c *Coordinator) giveUpClass(class int) {
	isOther := func(id uint64) bool {
		return c.collector.manifest.ClassOf(id) == class && c.collector.unrefereed[id] == nil
	}
	c.referee.waiting = slices.DeleteFunc(c.referee.waiting, func(d disputedTask) bool {
		if !isOther(d.task.ID) || d.unlimited {
			return false
		}
		delete(c.referee.open, d.task.ID)
		return true
	})
	var others []uint64
	for id := range c.collector.disputes {
		if isOther(id) && !c.referee.open[id] {
			others = append(others, id)
		}
	}
	for _, id := range others {
		c.collector.unrefereed[id] = errTooLong
	}
	c.wanted = append(c.wanted, c.collector.updateDisputes(others)...)
}

var errTooLong = errors.New("the count would take longer than a minute")
