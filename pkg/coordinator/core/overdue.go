package core

import (
	"math"
	"slices"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// A worker may list a chunk for as long as it likes, so a listed chunk does not prove that its
// tasks will be counted. What follows lets a run end whatever workers do. It depends on when a
// chunk was handed out, and not on what its holder says:
//
//   - An idle searcher gets a chunk that another process holds, if it would finish sooner, or if
//     the other process has no result yet.
//   - A hold is overdue after a time in which others would have finished long ago. Then any idle
//     searcher gets its tasks, even if no speed is known yet.
//   - A process gets nothing as long as it has more overdue holds than results.
//   - The coordinator counts a task itself that is overdue for long at all its holders.
//
// A process without a result may be one of any number of invented names, so it never keeps a chunk
// from a process with results.

const (
	// overdueAfter is the least time after which a hold is overdue.
	overdueAfter = 30 * time.Second
	// overdueTimes is how many times longer than the median searcher of the fleet the holder of an
	// overdue hold has taken. Estimates of tasks are wrong by less.
	overdueTimes = 4
	// overdueFor is how long a task is overdue at all its holders until the coordinator counts it.
	overdueFor = 2 * time.Minute
)

// findLate finds how late each hold is. Holds that are overdue while no speed is known may not be
// so when it is.
func (c *Core) findLate(now time.Duration) {
	for _, holds := range c.queue.holds {
		for _, h := range holds {
			h.late = now - h.since - c.overdueTime(h.Range)
		}
	}
}

// overdueTime returns how long after it was handed out a range is overdue.
func (c *Core) overdueTime(r queens.Range) time.Duration {
	if c.fleet.median == 0 {
		return overdueAfter
	}
	return max(overdueAfter, overdueTimes*c.timeAt(c.fleet.median, r))
}

// hoards reports whether a worker has more overdue holds than results. An honest worker may be
// overdue, for example with the few tasks that take much longer than estimated.
func (c *Core) hoards(w *worker) bool {
	overdue := uint64(0)
	for _, h := range c.queue.holds[w.process] {
		if h.overdue() {
			overdue++
		}
	}
	return overdue > w.results
}

// recountAbandoned starts a recount of the lowest abandoned task, if no recount runs or is due.
func (c *Core) recountAbandoned(now time.Duration) {
	if c.judge.running != nil || len(c.judge.unsettled) > 0 {
		return
	}
	if task, found := c.abandoned(); found {
		c.recount(now, task, ledger.LostWorkers)
	}
}

// abandoned returns the lowest task that needs a count and is overdue for long at all its holders.
// It returns false if there is none, or if no worker is present: then the coordinator waits.
func (c *Core) abandoned() (lowest uint64, found bool) {
	if !c.fleet.anybody() {
		return 0, false
	}
	late := func(h *hold) bool { return h.late >= overdueFor }
	for _, holds := range c.queue.holds {
		for _, h := range holds {
			if !late(h) || found && h.First >= lowest {
				continue
			}
			for task := h.First; task < h.End(); task++ {
				holders := c.queue.holders[task]
				atAll := slices.Contains(holders, h) && !slices.ContainsFunc(holders, func(h *hold) bool {
					return !late(h)
				})
				if atAll && c.judge.need(task) == needCount && (!found || task < lowest) {
					lowest, found = task, true
				}
			}
		}
	}
	return lowest, found
}

// idle returns how many searchers of a worker hold no chunk.
func (c *Core) idle(w *worker) int {
	return max(w.request.Searchers-len(c.queue.holds[w.process]), 0)
}

// doubleLast gives idle searchers ranges that other processes hold, if no waiting task is left for
// their machine. A searcher gets a range that is overdue, or that it would finish sooner than its
// holder. It begins with the range whose search will end latest. The first result counts.
func (c *Core) doubleLast(now time.Duration) {
	if c.allDone() || len(c.fleet.wanting) == 0 {
		return
	}
	c.fleet.measure(now)
	idle := slices.DeleteFunc(c.fleet.waiting(), func(w *worker) bool { return !c.mayDouble(w) })
	if len(idle) == 0 {
		return
	}
	last := c.endings(now)
	for _, w := range idle {
		if chunks := c.pickLast(now, w, &last); len(chunks) > 0 {
			c.answer(w, chunks)
		}
	}
}

// mayDouble reports whether a worker with a kept request may get what others hold.
func (c *Core) mayDouble(w *worker) bool {
	machine := w.process.Machine
	return c.idle(w) > 0 && !c.hoards(w) && c.accepts(machine) && !c.waitsFor(machine)
}

// pickLast lets a worker hold ranges that others hold, and removes them from the list: see endings.
func (c *Core) pickLast(now time.Duration, w *worker, last *[]*hold) (chunks []queens.Range) {
	room := room{chunks: min(w.request.Want, c.idle(w), c.mostChunks(w)), bytes: c.options.ReplyBytes}
	var rest []*hold
	for _, h := range *last {
		bytes := c.options.TaskBytes[c.queue.class(h.First)]
		sooner := h.overdue() || w.results > 0 && now+c.searchTime(w, h.Range) < h.end
		fits := room.chunks > 0 && int(h.Tasks)*bytes <= room.bytes
		known := c.queue.holds[w.process][h.Range] != nil
		if !sooner || !fits || known || c.adopt(now, w.process, h.Range, nobody) == nil {
			rest = append(rest, h)
			continue
		}
		room.take(h.Tasks, bytes)
		chunks = append(chunks, h.Range)
	}
	*last = rest
	return chunks
}

// endings estimates when the searches of all holds will end, and returns the holds whose ranges may
// also be handed out to another process. The hold that ends latest comes first. Holds that are
// overdue, or whose process has no result, are taken to end never. If several processes hold a
// task, only the hold that ends first is in the list.
func (c *Core) endings(now time.Duration) (list []*hold) {
	for p, holds := range c.queue.holds {
		for _, h := range holds {
			h.end = now + c.timeLeft(now, c.fleet.workers[p], h)
			if h.overdue() || c.fleet.workers[p].results == 0 {
				h.end = math.MaxInt64
			}
			list = append(list, h)
		}
	}
	slices.SortFunc(list, compareEnds)
	return slices.DeleteFunc(list, func(h *hold) bool {
		return c.judge.need(h.First) != needCount || !c.queue.mayDouble(h)
	})
}

// searchTime returns how long a searcher of a worker takes for a range, by its speed. If that is
// unknown, the mean speed of all searchers counts.
func (c *Core) searchTime(w *worker, r queens.Range) time.Duration {
	speed := w.rate.speed()
	if speed == 0 {
		speed = c.fleet.speed / float64(max(c.fleet.searchers, 1))
	}
	return c.timeAt(speed, r)
}

// timeAt returns how long a searcher of the given speed takes for a range.
func (c *Core) timeAt(speed float64, r queens.Range) time.Duration {
	seconds := float64(r.Tasks) * c.options.Shares[c.queue.class(r.First)] / max(speed, 1e-300)
	return time.Duration(min(seconds, 1e9) * float64(time.Second))
}

// timeLeft estimates how long the search of a hold will still take. The estimate is at least half
// of the time that the search has taken so far. Whatever the worker says, it is also at least a
// quarter of the time since the hold began.
func (c *Core) timeLeft(now time.Duration, w *worker, h *hold) time.Duration {
	left := c.searchTime(w, h.Range)
	if h.begun {
		searched := now - h.began
		left = max(left-searched, searched/2)
	}
	return max(left, (now-h.since)/4)
}
