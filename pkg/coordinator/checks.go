package coordinator

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"nqueens/pkg/queens"
)

// The coordinator counts spot checks itself where no other voter is connected: in at most
// maxCheckShare of the core time of the run, and at its end for at most maxEndShare of the time
// that it took. If the run is thorough, it counts all of them.
const (
	maxCheckShare = 0.02
	maxEndShare   = 0.01
)

// A thorough run has at most maxTaken tasks looked up for the coordinator's own checks, or a chunk,
// and waits with the publishing of tasks while maxChecks wait to be checked: nobody may be as fast
// as the workers.
const (
	maxTaken  = 1 << 8
	maxChecks = 1 << 14
)

// checker is the state of the coordinator's own spot checks. It belongs to the event loop.
type checker struct {
	taken   map[uint64]*ownCheck   // by task: those looked up, waiting or being counted
	chunks  map[*inflightChunk]int // of these tasks, and how many of them each has
	lookups int                    // of these tasks, those not found yet
	waiting []*ownCheck            // those found, and not being counted yet
	running int                    // those being counted
	threads int                    // that count
	spent   time.Duration
	first   time.Duration // what the same tasks took those who counted them first

	started  time.Time
	left     int       // tasks to check when there was progress last
	leftAt   time.Time // the time of that
	endSince time.Time // since when only the coordinator's own checks are left; zero before

	tasks    chan *ownCheck // for checkLoop
	verdicts chan verdict
}

// ownCheck is a task to count with another kernel than the one named.
type ownCheck struct {
	chunk   *inflightChunk
	task    queens.Task // once it is found
	found   bool
	kernel  string
	elapsed time.Duration // of the first count
}

func newChecker() checker {
	return checker{
		taken: make(map[uint64]*ownCheck), chunks: make(map[*inflightChunk]int), threads: 1,
		started: time.Now(), tasks: make(chan *ownCheck), verdicts: make(chan verdict),
	}
}

// checkLoop counts spot checks, one at a time on each thread, until ctx ends.
func (c *Coordinator) checkLoop(ctx context.Context) error {
	var group errgroup.Group
	for range c.checker.threads {
		group.Go(func() error {
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
		})
	}
	return group.Wait()
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
	return c.trust.Thorough || float64(k.spent+k.expected(first)) <= maxCheckShare*float64(c.collector.coreTime-c.resumedTime)
}

// nextCheck returns the channel for the next spot check, or nil if there is none, or no time for
// it.
func (c *Coordinator) nextCheck() (to chan<- *ownCheck, check *ownCheck) {
	k := &c.checker
	for len(k.waiting) > 0 && !c.isChecked(k.waiting[0].task.ID) {
		k.release(k.waiting[0].task.ID)
		k.waiting = k.waiting[1:]
	}
	if len(k.waiting) == 0 || k.running == k.threads || !c.canAfford(k.waiting[0].elapsed) {
		return nil, nil
	}
	return k.tasks, k.waiting[0]
}

// sentCheck notes that the check of nextCheck was sent.
func (c *Coordinator) sentCheck() {
	k := &c.checker
	k.first += k.waiting[0].elapsed
	k.waiting = k.waiting[1:]
	k.running++
}

// release forgets a task.
func (k *checker) release(id uint64) {
	chunk := k.taken[id].chunk
	delete(k.taken, id)
	if k.chunks[chunk]--; k.chunks[chunk] == 0 {
		delete(k.chunks, chunk)
	}
}

// isChecked reports whether a task is in flight for a spot check.
func (c *Coordinator) isChecked(id uint64) bool {
	t := c.window.tasks[id]
	return t != nil && t.agreed
}

// checked records the coordinator's own spot check of a task.
func (c *Coordinator) checked(v *verdict) error {
	k := &c.checker
	k.running--
	k.release(v.task.ID)
	k.spent += v.count.Elapsed
	if v.err != nil {
		c.cfg.Log.Warn().Err(v.err).Uint64("task", v.task.ID).Msg("a spot check failed: the task is not checked")
		if c.isChecked(v.task.ID) {
			c.window.dropCheck(v.task.ID)
		}
	} else {
		own := queens.ChunkResult{Run: c.run, First: v.task.ID, Worker: queens.Checker, Counts: []queens.TaskCount{v.count}}
		if err := c.record([]taskDelivery{{result: own.Result(0, 0)}}); err != nil {
			return err
		}
	}
	if c.ownChecks {
		c.considerAll()
	}
	return c.considerCopies()
}

// checkItself has the tasks of a parked chunk looked up, to be counted by the coordinator, unless
// they are no spot check, or there is no time.
func (c *Coordinator) checkItself(chunk *inflightChunk) error {
	k := &c.checker
	full := len(k.chunks) > 0 && (!c.trust.Thorough || len(k.taken) >= maxTaken)
	if full || c.cfg.Check == nil {
		return nil
	}
	ids := slices.DeleteFunc(c.window.openTasks(chunk), func(id uint64) bool {
		return !c.isChecked(id) || k.taken[id] != nil // in a chunk before
	})
	if len(ids) == 0 {
		return nil
	}
	first, _, err := c.ledger.Result(ids[0])
	if err != nil || !c.canAfford(first.Elapsed) {
		return err
	}
	k.chunks[chunk] = len(ids)
	for _, id := range ids {
		k.taken[id] = &ownCheck{chunk: chunk}
	}
	k.lookups += len(ids)
	c.wanted = append(c.wanted, ids...)
	return nil
}

// foundCheck takes a task that was looked up, if the coordinator is to check it.
func (c *Coordinator) foundCheck(task *queens.Task) error {
	k := &c.checker
	check := k.taken[task.ID]
	if check == nil || check.found {
		return nil
	}
	k.lookups--
	first, ok, err := c.ledger.Result(task.ID)
	if err != nil || !ok || !c.isChecked(task.ID) {
		k.release(task.ID)
		return err
	}
	check.task, check.found, check.kernel, check.elapsed = *task, true, first.Kernel, first.Elapsed
	k.waiting = append(k.waiting, check)
	return nil
}

// onlyChecks reports whether nothing is left but spot checks.
func (c *Coordinator) onlyChecks() bool {
	return c.window.checks > 0 && c.window.onlyChecks() && len(c.collector.disputes) == 0 && !c.ledger.IsVoiding()
}

// endChecks ends the run's wait for spot checks, if nothing else is left: workers have
// DisputeTimeout from one check to the next, then the coordinator itself a share of the time that
// the run took. It drops the remaining checks, unless the run is thorough.
func (c *Coordinator) endChecks() error {
	k, now := &c.checker, time.Now()
	if k.left != c.window.checks {
		k.left, k.leftAt = c.window.checks, now
	}
	if k.endSince.IsZero() {
		waits := len(c.window.parked) < len(c.window.chunks)
		if waits && now.Sub(k.leftAt) < c.cfg.DisputeTimeout {
			return nil
		}
		k.endSince, c.ownChecks = now, true
		for _, chunk := range c.window.chunks {
			if !chunk.parked {
				c.window.copyChunk(chunk, 0)
			}
		}
		c.considerAll()
	}
	if c.trust.Thorough && c.cfg.Check != nil {
		return nil
	}
	to, _ := c.nextCheck()
	working := k.running > 0 || to != nil || k.lookups > 0 || c.toConsider > 0
	if working && now.Sub(k.endSince) < time.Duration(maxEndShare*float64(k.endSince.Sub(k.started))) {
		return nil
	}
	if tasks := c.window.dropChecks(); tasks > 0 {
		c.cfg.Log.Info().Int("tasks", tasks).Msg("some spot checks are left out: no other voter counted the tasks, and the coordinator has spent its share of time")
	}
	return c.collector.checkKnownTotal()
}
