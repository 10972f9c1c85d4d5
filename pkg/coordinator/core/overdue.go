package core

import (
	"container/heap"
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
//   - If the processes of a user hold as much as they may, the oldest hold that is overdue, or
//     whose process has no result, makes room for another process: see makeRoom.
//   - The coordinator counts a task itself that is overdue for long at all its holders, apart from
//     those without a result, or that workers have lost often: see lost.
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

// late returns how long a hold is overdue, by the last tick. It is negative before.
func (c *Core) late(h *hold) time.Duration {
	return c.clock.tick - h.since - c.overdueTime(h.Range)
}

// isOverdue reports whether others would have finished the range of a hold long ago.
func (c *Core) isOverdue(h *hold) bool { return c.late(h) >= 0 }

// punctual returns how many holds of a task are not overdue.
func (c *Core) punctual(task uint64) (holds int) {
	for _, h := range c.queue.holders[task] {
		if !c.isOverdue(h) {
			holds++
		}
	}
	return holds
}

// overdueTime returns how long after it was handed out a range is overdue.
func (c *Core) overdueTime(r queens.Range) time.Duration {
	if c.clock.median == 0 {
		return overdueAfter
	}
	return max(overdueAfter, overdueTimes*c.timeAt(c.clock.median, r))
}

// hoards reports whether a worker has more overdue holds than results. An honest worker may be
// overdue, for example with the few tasks that take much longer than estimated.
func (c *Core) hoards(w *worker) bool { return c.overdue(w.process) > w.results }

// overdue returns how many holds of a process are overdue. Only a tick and the end of a hold change
// that, so the holds are counted again only then: other inputs look at the requests of many
// hoarders.
func (c *Core) overdue(p queens.Process) (number uint64) {
	if counted, known := c.queue.overdue[p]; known {
		return counted
	}
	holds := c.queue.holds[p]
	for _, h := range holds {
		if c.isOverdue(h) {
			number++
		}
	}
	if len(holds) > 0 {
		c.queue.overdue[p] = number
	}
	return number
}

const (
	// mostLast bounds the holds that a tick looks at to hand their ranges out again.
	mostLast = 1000
	// mostPairs bounds how often a tick asks whether a worker would finish a hold sooner.
	mostPairs = 20_000
)

// recountAbandoned starts a recount of a task that its holders have abandoned, if no recount runs.
// A recount that was due has begun in the input before.
func (c *Core) recountAbandoned(now time.Duration) {
	if c.judge.running != nil {
		return
	}
	if task, found := c.abandoned(now); found {
		c.recount(now, task, ledger.LostWorkers)
	}
}

// abandoned returns the lowest task that needs a count and is overdue for long at a holder, and at
// all other holders with results, of the holds that began first. It returns false if there is none,
// or if no worker is present: then the coordinator waits.
func (c *Core) abandoned(now time.Duration) (lowest uint64, found bool) {
	if !c.fleet.anybody() {
		return 0, false
	}
	late := func(h *hold) bool { return c.late(h) >= overdueFor }
	works := func(h *hold) bool { return !late(h) && c.fleet.workers[h.holder].results > 0 }
	if top := c.queue.byEnd; len(top) == 0 || !late(top[0]) {
		return 0, false
	}
	for _, h := range c.last(now) {
		if !late(h) || found && h.First >= lowest {
			continue
		}
		for task := h.First; task < h.End(); task++ {
			holders := c.queue.holders[task]
			atAll := slices.Contains(holders, h) && !slices.ContainsFunc(holders, works)
			if atAll && c.judge.need(task) == needCount && (!found || task < lowest) {
				lowest, found = task, true
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
	if c.allDone() || c.fleet.wanting.Len() == 0 || len(c.queue.byEnd) == 0 {
		return
	}
	c.fleet.measure(now)
	var ends []*hold
	pairs := mostPairs
	for _, w := range c.fleet.first(c.fleet.wanting, mostLast) {
		if pairs <= 0 {
			return
		}
		if !c.mayDouble(w) {
			continue
		}
		if ends == nil {
			ends = c.endings(now)
		}
		if len(ends) == 0 || w.results == 0 && ends[0].end != never {
			continue
		}
		pairs -= len(ends)
		if chunks := c.pickLast(now, w, &ends); len(chunks) > 0 {
			c.answer(w, chunks)
		}
	}
}

// mayDouble reports whether a worker with a kept request may get what others hold.
func (c *Core) mayDouble(w *worker) bool {
	return c.idle(w) > 0 && !c.hoards(w) && !c.waitsFor(w.process.Machine)
}

// pickLast lets a worker hold ranges that others hold, and removes them from the list: see endings.
func (c *Core) pickLast(now time.Duration, w *worker, last *[]*hold) (chunks []queens.Range) {
	room := room{chunks: min(w.request.Want, c.idle(w), c.mostChunks(w)), bytes: c.options.ReplyBytes}
	rest := (*last)[:0]
	for _, h := range *last {
		isSooner := room.chunks > 0 && (w.results > 0 || h.end == never) &&
			(c.isOverdue(h) || w.results > 0 && now+c.searchTime(w, h.Range) < h.end)
		bytes := c.options.TaskBytes[c.queue.class(h.First)]
		fits := int(h.Tasks)*bytes <= room.bytes
		if !isSooner || !fits || c.queue.holds[w.process][h.Range] != nil ||
			c.adopt(now, w.process, h.Range, nobody) == nil {
			rest = append(rest, h)
			continue
		}
		room.take(h.Tasks, bytes)
		chunks = append(chunks, h.Range)
	}
	*last = rest
	return chunks
}

// endings returns the holds that will end latest, and whose ranges may also be handed out to
// another process. The hold that ends latest comes first. If several processes hold a task, only
// the hold that ends first is in the list.
func (c *Core) endings(now time.Duration) []*hold {
	return slices.DeleteFunc(c.last(now), func(h *hold) bool {
		return c.judge.need(h.First) != needCount || !c.queue.mayDouble(h)
	})
}

// last returns the holds that will end latest, up to mostLast. The hold that ends latest comes
// first. Their ends are estimated now; those of other holds when their workers last listed them.
func (c *Core) last(now time.Duration) []*hold {
	list := make([]*hold, min(mostLast, len(c.queue.byEnd)))
	for i := range list {
		list[i] = heap.Pop(&c.queue.byEnd).(*hold)
	}
	for _, h := range list {
		h.end = c.endOf(now, h)
		heap.Push(&c.queue.byEnd, h)
	}
	slices.SortFunc(list, compareEnds)
	return list
}

// never is the end of a search that is taken to end never.
const never = math.MaxInt64

// endOf estimates when the search of a hold will end. Holds that are overdue, or whose process has
// no result, are taken to end never.
func (c *Core) endOf(now time.Duration, h *hold) time.Duration {
	w := c.fleet.workers[h.holder]
	if w.results == 0 || c.isOverdue(h) {
		return never
	}
	return now + c.timeLeft(now, w, h)
}

// searchTime returns how long a searcher of a worker takes for a range, by its speed. If that is
// unknown, the mean speed of all searchers counts.
func (c *Core) searchTime(w *worker, r queens.Range) time.Duration {
	speed := w.rate.speed()
	if speed == 0 {
		speed = c.fleet.speed / float64(max(c.fleet.sums.searchers, 1))
	}
	return c.timeAt(speed, r)
}

// timeAt returns how long a searcher of the given speed takes for a range.
func (c *Core) timeAt(speed float64, r queens.Range) time.Duration {
	seconds := float64(r.Tasks) * c.options.Shares[c.queue.class(r.First)] / max(speed, 1e-300)
	return time.Duration(min(seconds, 1e9) * float64(time.Second))
}

// timeLeft estimates how long the search of a hold will still take. The estimate is at least half
// of the time that the search has taken so far and, whatever the worker says, of the time since the
// hold began.
func (c *Core) timeLeft(now time.Duration, w *worker, h *hold) time.Duration {
	left := c.searchTime(w, h.Range)
	if h.begun {
		searched := now - h.began
		left = max(left-searched, searched/2)
	}
	return max(left, (now-h.since)/2)
}
