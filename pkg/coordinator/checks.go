package coordinator

import (
	"context"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// The coordinator counts spot checks itself where no other voter is connected: in at most
// maxCheckShare of the core time of the run, and at its end for at most maxEndShare of the time
// that it took.
const (
	maxCheckShare = 0.02
	maxEndShare   = 0.01
)

// checker is the state of the coordinator's own spot checks. It belongs to the event loop.
type checker struct {
	chunk   *inflightChunk // whose tasks are looked up or counted; nil if none is
	missing int            // its tasks that are looked up
	waiting []ownCheck     // in order of id
	busy    bool
	spent   time.Duration
	first   time.Duration // what the same tasks took those who counted them first

	started  time.Time
	left     int       // tasks to check when there was progress last
	leftAt   time.Time // the time of that
	endSince time.Time // since when only the coordinator's own checks are left; zero before

	tasks    chan ownCheck // for checkLoop
	verdicts chan verdict
}

// ownCheck is a task to count with another kernel than the one named.
type ownCheck struct {
	task    queens.Task
	kernel  string
	elapsed time.Duration // of the first count
}

func newChecker() checker {
	return checker{started: time.Now(), tasks: make(chan ownCheck), verdicts: make(chan verdict)}
}

// checkLoop counts spot checks, one at a time, until ctx ends.
func (c *Coordinator) checkLoop(ctx context.Context) error {
	for {
		select {
		case check := <-c.checker.tasks:
			v := verdict{task: check.task}
			v.count, v.err = c.cfg.Check(ctx, &check.task, check.kernel)
			send(ctx, c.checker.verdicts, v)
		case <-ctx.Done():
			return nil
		}
	}
}

// expected returns how long the coordinator needs for a task.
func (k *checker) expected(first time.Duration) time.Duration {
	const unknown = 2 // times as long as the first count
	if k.first == 0 {
		return unknown * first
	}
	return time.Duration(float64(first) * float64(k.spent) / float64(k.first))
}

// canAfford reports whether the coordinator may count a task that took so long.
func (c *Coordinator) canAfford(first time.Duration) bool {
	k := &c.checker
	return float64(k.spent+k.expected(first)) <= maxCheckShare*float64(c.collector.coreTime-c.resumedTime)
}

// nextCheck returns the channel for the next spot check, or nil if there is none, or no time for
// it.
func (c *Coordinator) nextCheck() (to chan<- ownCheck, check ownCheck) {
	k := &c.checker
	for len(k.waiting) > 0 && !c.isChecked(k.waiting[0].task.ID) {
		k.waiting = k.waiting[1:]
	}
	if len(k.waiting) == 0 {
		if k.missing == 0 && !k.busy {
			k.chunk = nil
		}
		return nil, check
	}
	if k.busy || !c.canAfford(k.waiting[0].elapsed) {
		return nil, check
	}
	return k.tasks, k.waiting[0]
}

// isChecked reports whether a task is in flight for a spot check.
func (c *Coordinator) isChecked(id uint64) bool {
	t := c.window.tasks[id]
	return t != nil && t.agreed
}

// sentCheck notes that the check of nextCheck was sent.
func (c *Coordinator) sentCheck() {
	k := &c.checker
	k.first += k.waiting[0].elapsed
	k.waiting, k.busy = k.waiting[1:], true
}

// checked records the coordinator's own spot check of a task.
func (c *Coordinator) checked(v *verdict) error {
	k := &c.checker
	k.busy = false
	k.spent += v.count.Elapsed
	if v.err != nil {
		c.cfg.Log.Warn().Err(v.err).Uint64("task", v.task.ID).Msg("a spot check failed: the task is not checked")
		if c.isChecked(v.task.ID) {
			c.window.accepted(v.task.ID, 0, 0)
		}
		return nil
	}
	own := queens.ChunkResult{Run: c.run, First: v.task.ID, Worker: queens.Checker, Counts: []queens.TaskCount{v.count}}
	return c.record([]taskDelivery{{result: own.Result(0, 0)}})
}

// observeVoters looks which voters are connected.
func (c *Coordinator) observeVoters() { c.trust.observe(c.cfg.Roster.Identities()) }

// considerCopies publishes the chunks that wait for a voter that is connected now, or has the
// coordinator count one that is a spot check.
func (c *Coordinator) considerCopies() error {
	if !c.reconciled {
		return nil
	}
	for chunk := range c.window.parked {
		if err := c.considerCopy(chunk); err != nil {
			return err
		}
	}
	return nil
}

func (c *Coordinator) considerCopy(chunk *inflightChunk) (err error) {
	now := time.Now()
	if !chunk.parked || now.Before(chunk.notBefore) || chunk == c.checker.chunk {
		return nil
	}
	if chunk.voters == nil {
		open := c.window.openTasks(chunk)
		if len(open) == 0 {
			return nil
		}
		if chunk.voters, err = c.ledger.Supporters(open[0]); err != nil {
			return err
		}
	}
	if !c.ownChecks && chunk.vain < manyVain && c.trust.isConnected(chunk.voters) {
		c.window.release(chunk)
		return nil
	}
	if c.checker.chunk == nil && c.cfg.Check != nil {
		return c.checkItself(chunk)
	}
	return nil
}

// checkItself has the tasks of a parked chunk looked up, to be counted by the coordinator, unless
// they are no spot check, or there is no time.
func (c *Coordinator) checkItself(chunk *inflightChunk) error {
	k := &c.checker
	ids := slices.DeleteFunc(c.window.openTasks(chunk), func(id uint64) bool { return !c.isChecked(id) })
	if len(ids) == 0 {
		return nil
	}
	first, _, err := c.ledger.Result(ids[0])
	if err != nil || !c.canAfford(first.Elapsed) {
		return err
	}
	k.chunk, k.missing = chunk, len(ids)
	c.wanted = append(c.wanted, ids...)
	return nil
}

// foundCheck takes a task that was looked up, if the coordinator is to check it.
func (c *Coordinator) foundCheck(task *queens.Task) error {
	k, t := &c.checker, c.window.tasks[task.ID]
	if k.missing == 0 || task.ID < k.chunk.first || task.ID >= k.chunk.first+uint64(k.chunk.tasks) ||
		slices.ContainsFunc(k.waiting, func(w ownCheck) bool { return w.task.ID == task.ID }) {
		return nil
	}
	k.missing--
	if t == nil || !t.agreed {
		return nil
	}
	first, ok, err := c.ledger.Result(task.ID)
	if ok {
		k.waiting = append(k.waiting, ownCheck{*task, first.Kernel, first.Elapsed})
	}
	return err
}

// endChecks ends the run's wait for spot checks, if nothing else is left: workers have
// DisputeTimeout from one check to the next, then the coordinator itself a share of the time that
// the run took. What is not checked then is dropped.
func (c *Coordinator) endChecks() error {
	k, now := &c.checker, time.Now()
	if k.left != c.window.checks {
		k.left, k.leftAt = c.window.checks, now
	}
	if k.endSince.IsZero() {
		c.observeVoters()
		if err := c.considerCopies(); err != nil {
			return err
		}
		waits := len(c.window.parked) < c.checkChunks()
		if waits && now.Sub(k.leftAt) < c.cfg.DisputeTimeout {
			return nil
		}
		k.endSince = now
		c.ownChecks = true
		for _, chunk := range c.window.chunks {
			if !chunk.parked {
				c.window.copyChunk(chunk, 0)
			}
		}
	}
	if err := c.considerCopies(); err != nil {
		return err
	}
	to, _ := c.nextCheck()
	working := k.busy || to != nil || k.missing > 0
	if working && now.Sub(k.endSince) < time.Duration(maxEndShare*float64(k.endSince.Sub(k.started))) {
		return nil
	}
	if tasks := c.window.dropChecks(); tasks > 0 {
		c.cfg.Log.Info().Int("tasks", tasks).Msg("some spot checks are left out: no other voter counted the tasks, and the coordinator has spent its share of time")
	}
	return c.collector.checkKnownTotal()
}

// checkChunks returns the number of chunks in flight.
func (c *Coordinator) checkChunks() int { return len(c.window.chunks) }
