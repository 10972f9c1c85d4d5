package core

import (
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// WorkRequested handles a work request: it notes what the worker holds, and answers at once if the worker leaves, or gets or
// drops a chunk, or is refused. Otherwise it keeps the request for up to 5 s. A request that is repeated, or comes after a
// newer one, changes nothing.
func (c *Core) WorkRequested(now time.Duration, request *Request) {
	if !c.advance(now) || !c.fleet.takes(request.From) {
		return
	}
	if w := c.fleet.workers[request.From]; w != nil && request.Number <= w.request.Number {
		return
	}
	w := c.fleet.hear(now, request.From, true)
	c.fleet.ask(now, w, request)
	drops := slices.Clone(request.Invalid)
	c.numbers.refused += uint64(len(drops))
	refused := c.over != nil || c.state.Banned(w.process.Machine)
	for i := range request.Held {
		if held := &request.Held[i]; refused || !c.list(now, w, held) {
			drops = append(drops, held.Range)
		}
	}
	for _, h := range c.queue.holdsOf(w.process) {
		if h.listed != request.Number {
			c.release(h, h.begun && !request.Leaving)
		}
	}
	chunks := c.give(now, w)
	if w.drops = append(drops, w.drops...); request.Leaving || refused || len(drops) > 0 || len(chunks) > 0 {
		c.answer(w, chunks)
	}
	if request.Leaving {
		c.fleet.set(w, false)
	}
	c.after(now)
}

// list notes a chunk that a worker lists. If the worker does not hold the chunk, list tries to adopt it. It reports whether the
// worker holds the chunk now; otherwise the worker shall drop it.
func (c *Core) list(now time.Duration, w *worker, held *queens.Held) bool {
	h := c.queue.holds[w.process][held.Range]
	if h == nil {
		h = c.adopt(now, w.process, held.Range)
	}
	if h == nil {
		return false
	}
	h.listed = w.request.Number
	if held.Searched > 0 {
		h.begun, h.began = true, now-held.Searched
	}
	return true
}

// mostHolders bounds the processes that hold a task. An honest fleet stays below this bound, but a dishonest machine may
// list a range in the names of any number of processes.
const mostHolders = 16

// adopt lets a process hold those tasks of a range that need a count by its machine and have fewer than [mostHolders]
// holders, whether they wait or others hold them. It returns nil if the range has no such task.
func (c *Core) adopt(now time.Duration, p queens.Process, r queens.Range) *hold {
	return c.queue.hold(now, p, r, func(task uint64) bool {
		counted := c.state.Counter(task) == p.Machine
		if counted || !c.judge.need(task).byWorker() || len(c.queue.holders[task]) >= mostHolders {
			return false
		}
		if !c.queue.held(task) {
			c.queue.removeTask(task)
		}
		return true
	})
}

// release ends a hold. Tasks that nobody holds any more wait again. The hold is lost if its worker is silent, or stays but no
// longer lists the chunk although its search had begun.
func (c *Core) release(h *hold, lost bool) {
	if lost {
		c.numbers.lost++
	}
	for _, task := range c.queue.release(h, lost) {
		c.queue.wait(queens.Range{First: task, Tasks: 1}, c.state.Counter(task))
		c.changed = true
	}
}

// give hands out ranges to a worker, if its kept request asks for work.
func (c *Core) give(now time.Duration, w *worker) (chunks []queens.Range) {
	if c.over != nil || now < c.clock.handOut || !w.wants() || c.state.Banned(w.process.Machine) {
		return nil
	}
	if c.allDone() && !c.awaitsChecks() {
		return nil
	}
	c.fleet.measure(now)
	waiting := c.queue.work(c.options.Shares)
	speed := w.rate.speed()
	room := room{chunks: mostChunks, bytes: c.options.ReplyBytes}
	for range w.request.Want {
		work := c.fleet.searcherWork(speed, waiting)
		for alone := true; ; alone = false {
			r, ok := c.queue.take(now, w.process, func(class int) uint64 {
				return room.tasks(work, c.options.Shares[class], c.options.TaskBytes[class], alone)
			})
			if !ok && alone {
				return chunks
			}
			if !ok {
				break
			}
			class := c.queue.class(r.First)
			room.take(r.Tasks, c.options.TaskBytes[class])
			work -= float64(r.Tasks) * c.options.Shares[class]
			waiting -= float64(r.Tasks) * c.options.Shares[class]
			chunks = append(chunks, r)
		}
	}
	return chunks
}

// waitsFor reports whether a task waits that a machine may count.
func (c *Core) waitsFor(machine string) bool {
	_, _, found := c.queue.lowest(machine)
	return found && !c.state.Banned(machine)
}

// answer answers the kept request of a worker, if there is one.
func (c *Core) answer(w *worker, chunks []queens.Range) {
	if !w.kept {
		return
	}
	reply := Reply{To: w.process, Number: w.request.Number, Drop: w.drops, Chunks: chunks, Origin: w.request.Origin}
	if c.state.Banned(w.process.Machine) {
		reply.Refused = c.refusal(w.process.Machine)
	}
	c.fleet.keep(w, false)
	w.drops, w.request.Origin = nil, nil
	c.out.Replies = append(c.out.Replies, reply)
}

// refusal says why nothing is accepted from a banned machine.
func (c *Core) refusal(machine string) string {
	bans := c.state.Bans()
	b := bans[slices.IndexFunc(bans, func(b queens.Ban) bool { return b.Machine == machine })]
	return fmt.Sprintf("machine %s is banned: it counted %d in task %d, the coordinator counted %d: check its memory",
		machine, b.Count, b.Task, b.Recount)
}

// idle returns how many searchers of a worker hold no chunk.
func (c *Core) idle(w *worker) int {
	return max(w.request.Searchers-len(c.queue.holds[w.process]), 0)
}

// doubleLast gives an idle searcher a range that another process holds, if no waiting task is left for the searcher's machine,
// and if the searcher would finish sooner than the holder. It begins with the range whose search will end latest. The first
// result counts.
func (c *Core) doubleLast(now time.Duration) {
	idle := c.fleet.waiting()
	if len(idle) == 0 || c.allDone() {
		return
	}
	if c.fleet.measure(now); c.fleet.speed == 0 {
		return
	}
	last := c.endings(now)
	for _, w := range idle {
		if _, _, waits := c.queue.lowest(w.process.Machine); waits || c.state.Banned(w.process.Machine) {
			continue
		}
		room := room{chunks: min(w.request.Want, c.idle(w)), bytes: c.options.ReplyBytes}
		var chunks []queens.Range
		for i := 0; i < len(last) && room.chunks > 0; i++ {
			h := last[i]
			class := c.queue.class(h.First)
			if now+c.searchTime(w, h.Range) >= h.end {
				break
			}
			fits := int(h.Tasks)*c.options.TaskBytes[class] <= room.bytes
			if !fits || c.queue.holds[w.process][h.Range] != nil || c.adopt(now, w.process, h.Range) == nil {
				continue
			}
			room.take(h.Tasks, c.options.TaskBytes[class])
			chunks = append(chunks, h.Range)
			last = slices.Delete(last, i, i+1)
			i--
		}
		if len(chunks) > 0 {
			c.answer(w, chunks)
		}
	}
}

// endings estimates when the searches of all holds will end, and returns the holds whose ranges may also be handed out to
// another process. The hold that ends latest comes first. If several processes hold a task, only the hold that ends first is in
// the list.
func (c *Core) endings(now time.Duration) (list []*hold) {
	for p, holds := range c.queue.holds {
		for _, h := range holds {
			h.end = now + c.timeLeft(now, c.fleet.workers[p], h)
			list = append(list, h)
		}
	}
	slices.SortFunc(list, compareEnds)
	return slices.DeleteFunc(list, func(h *hold) bool { return c.judge.need(h.First) != needCount || !c.queue.mayDouble(h) })
}

// searchTime returns how long a searcher of a worker takes for a range, by its speed. If that is unknown, the mean speed of
// all searchers counts.
func (c *Core) searchTime(w *worker, r queens.Range) time.Duration {
	speed := w.rate.speed()
	if speed == 0 {
		speed = c.fleet.speed / float64(max(c.fleet.searchers, 1))
	}
	seconds := float64(r.Tasks) * c.options.Shares[c.queue.class(r.First)] / max(speed, 1e-300)
	return time.Duration(min(seconds, 1e9) * float64(time.Second))
}

// timeLeft estimates how long the search of a hold will still take. The estimate is at least half of the time that the search
// has taken so far. Whatever the worker says, it is also at least a quarter of the time since the hold began.
func (c *Core) timeLeft(now time.Duration, w *worker, h *hold) time.Duration {
	left := c.searchTime(w, h.Range)
	if h.begun {
		searched := now - h.began
		left = max(left-searched, searched/2)
	}
	return max(left, (now-h.since)/4)
}

// noteWait notes for what the run waits, and since when. Its cause, if it waits for a server, is the
// caller's to add.
func (c *Core) noteWait(now time.Duration) {
	reason, why := c.waitReason(now)
	if reason != c.wait.Reason {
		c.wait = queens.Wait{Reason: reason, Since: c.at(now)}
	}
	c.wait.Why = why
}

// waitReason returns for what the run waits, and why; "" if it goes on.
func (c *Core) waitReason(now time.Duration) (reason queens.Reason, why string) {
	recounts := uint64(len(c.judge.unsettled))
	isIdle := len(c.queue.holders) == 0
	switch {
	case c.over != nil:
	case !c.fleet.connected:
		return queens.NoServer, ""
	case now < c.clock.handOut:
		return queens.WorkersReport, ""
	case c.totalOf != 0:
		return queens.Auditing, ""
	case c.needsOtherMachine():
		return queens.OtherMachine, fmt.Sprintf("a redundancy of %d needs another one: "+
			"every machine here has counted all that waits", c.state.Header().Redundancy)
	case isIdle && c.queue.waits() > 0 && len(c.fleet.machines()) == 0:
		return queens.NoWorkers, "none is present"
	case isIdle && c.queue.waits() == 0 && recounts > 0:
		return queens.Recounting, fmt.Sprintf("%d of %d tasks", recounts, c.state.Header().Manifest.Tasks)
	case isIdle && c.allDone() && len(c.judge.checks) > 0:
		return queens.SpotChecks, ""
	}
	return "", ""
}

// needsOtherMachine reports whether searchers are idle and every present machine has counted all tasks
// that wait.
func (c *Core) needsOtherMachine() bool {
	return c.state.Header().Redundancy > 1 && c.queue.waits() > 0 && len(c.fleet.waiting()) > 0 &&
		!slices.ContainsFunc(c.fleet.machines(), c.waitsFor)
}
