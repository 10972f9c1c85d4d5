package coordinator

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// A disputed task is counted by this process, if that takes at most refereeTimeout. Its count
// decides. Otherwise further workers count the task, as long as one is connected that can settle the
// dispute; then this process counts it however long it takes, which it logs every refereeInterval.
// At most maxRefereed tasks are in memory for that; the other disputes wait.
const (
	refereeTimeout  = time.Minute
	refereeInterval = 10 * time.Minute
	maxRefereed     = 16
)

// referee is the state of the counting of disputed tasks. It belongs to the event loop.
type referee struct {
	waiting []disputedTask
	lookups map[uint64]bool // tasks that are looked up, to be counted then
	open    map[uint64]bool // tasks that wait or are being counted
	// asked are the disputed tasks that workers count again, and since when.
	asked map[uint64]time.Time

	tasks    chan disputedTask // for refereeLoop
	verdicts chan verdict
}

// disputedTask is a task to count.
type disputedTask struct {
	task      queens.Task
	kernels   []string // of the votes
	unlimited bool     // however long it takes
}

// verdict is the coordinator's own count of a disputed task.
type verdict struct {
	task  queens.Task
	count queens.TaskCount
	err   error
}

func newReferee() referee {
	return referee{
		lookups: make(map[uint64]bool), open: make(map[uint64]bool), asked: make(map[uint64]time.Time), tasks: make(chan disputedTask), verdicts: make(chan verdict),
	}
}

// take takes a disputed task to count, unless it has it already or has too many.
func (r *referee) take(task *queens.Task, d *ledger.Dispute, unlimited bool) {
	if r.open[task.ID] || len(r.open) >= maxRefereed {
		return
	}
	var kernels []string
	for i := range d.Votes {
		if name := d.Votes[i].Kernel; !slices.Contains(kernels, name) {
			kernels = append(kernels, name)
		}
	}
	r.open[task.ID] = true
	r.waiting = append(r.waiting, disputedTask{*task, kernels, unlimited})
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
			send(ctx, c.referee.verdicts, c.countDisputed(ctx, &d))
		case <-ctx.Done():
			return nil
		}
	}
}

// countDisputed counts a disputed task by another kernel than the votes name.
func (c *Coordinator) countDisputed(ctx context.Context, d *disputedTask) verdict {
	v := verdict{task: d.task}
	if d.unlimited {
		defer c.tellCounting(d.task.ID)()
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, refereeTimeout)
		defer cancel()
	}
	v.count, v.err = c.cfg.Referee(ctx, &d.task, d.kernels...)
	return v
}

// tellCounting logs, now and every refereeInterval until the function that it returns is called, that the
// coordinator counts a disputed task.
func (c *Coordinator) tellCounting(task uint64) (stop func()) {
	ended := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		for begun := time.Now(); ; {
			c.cfg.Log.Warn().Uint64("task", task).Stringer("for", time.Since(begun).Round(time.Second)).
				Msg("the coordinator counts a disputed task itself, however long that takes: no admitted key that is connected has settled the dispute")
			select {
			case <-time.After(refereeInterval):
			case <-ended:
				return
			}
		}
	})
	return func() { close(ended); telling.Wait() }
}

// canReferee reports whether this process can count a disputed task, as far as it knows, and nobody
// else should.
func (c *Coordinator) canReferee(id uint64) bool {
	failed, d := c.collector.unrefereed[id], c.collector.disputes[id]
	if t := c.window.tasks[id]; t != nil && t.deadLettered { // it may kill this process, see countLost
		return false
	}
	return c.cfg.Referee != nil && (failed == nil || errors.Is(failed, errTooLong) && d != nil && !c.canSettle(d))
}

// canSettle reports whether a voter is connected that has no vote yet in an open dispute that takes
// votes, over a task that workers get, and is not too late: anybody may be connected and count nothing.
func (c *Coordinator) canSettle(d *ledger.Dispute) bool {
	const searches = 4 // the longest so far
	if asked, known := c.referee.asked[d.Task]; known && time.Since(asked) > c.cfg.DisputeTimeout+searches*min(c.window.longest, maxTimeout) {
		return false
	}
	t := c.window.tasks[d.Task]
	return (t == nil || !t.deadLettered) && !d.IsFull() && c.trust.isConnected(d.Votes)
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

// lookUpDisputed has disputed tasks looked up that this process can count, if it has none.
func (c *Coordinator) lookUpDisputed() {
	maps.DeleteFunc(c.referee.asked, func(id uint64, _ time.Time) bool { return c.collector.disputes[id] == nil })
	if len(c.referee.open)+len(c.referee.lookups) > 0 || !c.reconciled {
		return
	}
	for _, id := range c.refereeable(maxRefereed) {
		c.referee.lookups[id] = true
		c.wanted = append(c.wanted, id)
	}
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
	c.lookUpDisputed()
	return nil
}

// giveUp has a disputed task that this process can't count settled by the votes of workers.
func (c *Coordinator) giveUp(v *verdict) {
	reason := v.err
	if errors.Is(reason, context.DeadlineExceeded) {
		reason = errTooLong
	}
	c.cfg.Log.Warn().Uint64("task", v.task.ID).AnErr("reason", reason).
		Msg("the coordinator does not settle the dispute itself for now: other workers count the task again")
	c.collector.unrefereed[v.task.ID] = reason
	for _, id := range c.collector.updateDisputes([]uint64{v.task.ID}) {
		if d := c.collector.disputes[id]; c.canReferee(id) {
			c.referee.take(&v.task, d, true)
		} else {
			c.recount(&v.task, d)
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
