package core

import (
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// WorkRequested handles a work request: it notes what the worker holds, and answers at once if the
// worker leaves, or gets or drops a chunk, or is refused. Otherwise it keeps the request for up to
// 5 s. A request that is repeated, or comes after a newer one, changes nothing.
func (c *Core) WorkRequested(now time.Duration, request *Request) {
	if !c.advance(now) || !c.takes(request.From) {
		return
	}
	isSameConnection := true
	if w := c.fleet.workers[request.From]; w != nil {
		if !request.IsAfter(&w.request.WorkRequest) {
			return
		}
		isSameConnection = request.Connection == w.request.Connection
	}
	w := c.fleet.hear(now, request.From, true)
	c.fleet.ask(now, w, request)
	refused := c.over != nil || !c.accepts(w.process.Machine)
	drops := c.listAll(now, w, request, refused)
	underWay := c.releaseUnlisted(now, w, request, isSameConnection)
	w.request.Want = max(0, w.request.Want-underWay)
	c.fleet.keep(w, true)
	w.drops = drops
	c.serveKept(now) // tasks that wait again go to those who have waited, not back to this worker
	chunks := c.give(now, w)
	if request.Leaving || refused || len(w.drops) > 0 || len(chunks) > 0 {
		c.answer(w, chunks)
	}
	if request.Leaving {
		c.fleet.set(w, false)
	}
	c.after(now)
}

// listAll notes the chunks that a request lists. It returns those that the worker shall drop: all
// if the request is refused, else those that the worker may not hold.
func (c *Core) listAll(
	now time.Duration, w *worker, request *Request, refused bool,
) (drops []queens.Range) {
	drops = slices.Clone(request.Invalid)
	c.numbers.refused += uint64(len(drops))
	for i := range request.Held {
		if held := &request.Held[i]; refused || !c.list(now, w, held) {
			drops = append(drops, held.Range)
		}
	}
	return drops
}

// releaseUnlisted ends the holds of a worker that its request does not list, unless their chunks
// may be on the way to the worker: it returns how many these are.
func (c *Core) releaseUnlisted(
	now time.Duration, w *worker, request *Request, isSameConnection bool,
) (underWay int) {
	for _, h := range c.queue.holdsOf(w.process) {
		switch {
		case h.listed == request.Number:
		case h.listed == 0 && request.IsUnderWay(h.reply.connection, h.reply.number, now-h.since):
			underWay++
		default:
			lost := h.begun && isSameConnection && !request.Leaving
			if !lost && w.results == 0 && h.Tasks == 1 {
				c.queue.lose(h.First, true) // a hoarder may ask again and again, and list nothing
			}
			c.release(h, lost)
		}
	}
	return underWay
}

// list notes a chunk that a worker lists. If the worker does not hold the chunk, list tries to
// adopt it. It reports whether the worker holds the chunk now; otherwise the worker shall drop it.
func (c *Core) list(now time.Duration, w *worker, held *queens.Held) bool {
	h := c.queue.holds[w.process][held.Range]
	if h == nil {
		h = c.adopt(now, w.process, held.Range, c.witnessHolds)
	}
	if h == nil {
		return false
	}
	h.listed = w.request.Number
	if held.Searched > 0 {
		h.begun, h.began = true, now-held.Searched
	}
	c.queue.endsAt(h, c.endOf(now, h))
	return true
}

// mostHolders bounds the processes without a result that hold a task, apart from those that are
// overdue. An honest fleet stays below this bound, but a dishonest machine may list a range in the
// names of any number of processes.
const mostHolders = 16

// adopt lets a process hold those tasks of a range that need a count by its witness, whether they
// wait or others hold them. It leaves out the tasks for which except is true and, if the process
// has no result, those with [mostHolders] holders. It returns nil if no task is left, or if there
// is no room for the range.
func (c *Core) adopt(
	now time.Duration, p queens.Process, r queens.Range,
	except func(p queens.Process, task uint64) bool,
) *hold {
	if r.Tasks > c.queue.room(p.Machine.User) {
		return nil
	}
	h := c.queue.hold(now, p, r, func(task uint64) bool {
		counter := c.state.Counter(task).Witness()
		if counter == p.Machine.Witness() || !c.judge.need(task).byWorker() || except(p, task) {
			return false
		}
		if c.fleet.workers[p].results == 0 && c.punctual(task) >= mostHolders {
			return false
		}
		if !c.queue.held(task) {
			c.queue.removeTask(task, counter)
		}
		return true
	})
	if h != nil {
		c.queue.endsAt(h, c.endOf(now, h))
	}
	return h
}

// witnessHolds reports whether another process of the same witness holds a task, and is not
// overdue.
func (c *Core) witnessHolds(p queens.Process, task uint64) bool {
	return slices.ContainsFunc(c.queue.holders[task], func(h *hold) bool {
		return h.holder.Machine.Witness() == p.Machine.Witness() && h.holder != p && !c.isOverdue(h)
	})
}

// nobody is no exception: see adopt.
func nobody(queens.Process, uint64) bool { return false }

// release ends a hold. Tasks that nobody holds any more wait again. The hold is lost if its worker
// is silent, or stays but no longer lists the chunk although its search had begun.
func (c *Core) release(h *hold, lost bool) {
	if lost {
		c.numbers.lost++
	}
	for _, task := range c.queue.release(h, lost) {
		c.queue.wait(queens.Range{First: task, Tasks: 1}, c.state.Counter(task).Witness())
	}
	c.changed = true
}

// give hands out ranges to a worker, if its kept request asks for work.
func (c *Core) give(now time.Duration, w *worker) (chunks []queens.Range) {
	if c.over != nil || now < c.clock.handOut || !w.wants() || !c.accepts(w.process.Machine) {
		return nil
	}
	room := room{chunks: c.mostChunks(w), bytes: c.options.ReplyBytes}
	if c.allDone() && !c.awaitsChecks() || room.chunks == 0 || c.hoards(w) {
		return nil
	}
	c.fleet.measure(now)
	waiting := c.queue.work(c.options.Shares)
	speed, most := w.rate.speed(), c.queue.room(w.process.Machine.User)
	for range w.request.Want {
		if most == 0 && room.chunks > 0 && (w.results > 0 || len(chunks) == 0) {
			most = c.makeRoom(now, w)
		}
		work := c.fleet.searcherWork(speed, waiting, w.request.RoundTrip)
		for alone := true; ; alone = false {
			r, ok := c.queue.take(now, w.process, func(class int) uint64 {
				return min(most,
					room.tasks(work, c.options.Shares[class], c.options.TaskBytes[class], alone))
			})
			if !ok && alone {
				return chunks
			}
			if !ok {
				break
			}
			class := c.queue.class(r.First)
			room.take(r.Tasks, c.options.TaskBytes[class])
			most -= r.Tasks
			h := c.queue.holds[w.process][r]
			c.queue.endsAt(h, c.endOf(now, h))
			work -= float64(r.Tasks) * c.options.Shares[class]
			waiting -= float64(r.Tasks) * c.options.Shares[class]
			chunks = append(chunks, r)
		}
	}
	return chunks
}

// makeRoom ends a hold if a worker asks and there is no room for its user: of the holds that end
// never, the one that began first. For a worker without a result, the hold must have lasted for
// overdueAfter. The hold is lost. makeRoom returns how many tasks the worker may get instead.
func (c *Core) makeRoom(now time.Duration, w *worker) (tasks uint64) {
	if len(c.queue.byEnd) == 0 {
		return 0
	}
	h, machine := c.queue.byEnd[0], w.process.Machine
	lasted := now - h.since
	isOld := lasted >= overdueAfter || w.results > 0 && lasted > 0
	isUseful := c.waitsFor(machine) || c.state.Counter(h.First).Witness() != machine.Witness()
	if h.end != never || h.holder == w.process || !isOld || !isUseful {
		return 0
	}
	tasks = h.left
	c.release(h, true)
	c.drop(h)
	return tasks
}

// drop tells the holder of a hold that has ended to drop its chunk, if the holder's request is
// kept. Otherwise the reply to its next request does.
func (c *Core) drop(h *hold) {
	if w := c.fleet.workers[h.holder]; w != nil && w.kept {
		w.drops, c.tell = append(w.drops, h.Range), append(c.tell, w)
	}
}

// mostChunks returns how many chunks a reply to a worker may have.
func (c *Core) mostChunks(w *worker) int {
	if w.results == 0 {
		return max(newcomerChunks-len(c.queue.holds[w.process]), 0)
	}
	return mostChunks
}

// waitsFor reports whether a task waits that a machine may count.
func (c *Core) waitsFor(machine queens.Machine) bool {
	_, _, found := c.queue.lowest(machine.Witness())
	return found && c.accepts(machine)
}

// answer answers the kept request of a worker, if there is one.
func (c *Core) answer(w *worker, chunks []queens.Range) {
	if !w.kept {
		return
	}
	reply := Reply{To: w.process, Number: w.request.Number, Kept: c.fleet.last - w.asked,
		Drop: w.drops, Chunks: chunks, Origin: w.request.Origin}
	for _, chunk := range chunks {
		c.queue.holds[w.process][chunk].reply = order{w.request.Connection, w.request.Number}
	}
	if !c.accepts(w.process.Machine) {
		reply.Refused = c.refusal(w.process.Machine)
	}
	c.fleet.keep(w, false)
	w.drops, w.request.Origin = nil, nil
	c.out.Replies = append(c.out.Replies, reply)
}

// accepts reports whether counts of a machine are accepted. A banned machine's are not. Nor are
// those of an invited user that says that it is on the coordinator's machine: the user is another
// witness than that machine, and the two would confirm each other.
func (c *Core) accepts(m queens.Machine) bool {
	return !c.state.Banned(m) && !(queens.IsInvited(m.User) && m.Name == c.options.Machine)
}

// refusal says why nothing is accepted from a machine.
func (c *Core) refusal(m queens.Machine) string {
	b, banned := c.state.Ban(m)
	switch {
	case banned:
		return fmt.Sprintf("machine %s is banned: it counted %d in task %d, the coordinator counted "+
			"%d: check its memory",
			b.Shown(), b.Count, b.Task, b.Recount)
	case c.state.UserBanned(m.User):
		return userBan(m.User)
	}
	return fmt.Sprintf("machine %s is the coordinator's, so user %s would confirm its counts: "+
		"there, use join.token; "+
		"elsewhere, give another name with --machine", m.Name, m.User)
}

// userBan says that a user is banned.
func userBan(user string) string {
	return fmt.Sprintf("user %s is banned, with all its machines: three of them counted wrong", user)
}

// noteWait notes for what the run waits, and since when. Its cause, if it waits for a server, is
// the caller's to add.
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
	case c.needsOtherWitness():
		return queens.OtherMachine,
			fmt.Sprintf("a redundancy of %d needs another machine or invited user: "+
				"those here have counted all that waits", c.state.Header().Redundancy)
	case isIdle && c.queue.waits() > 0 && !c.fleet.anybody():
		return queens.NoWorkers, "none is present"
	case isIdle && c.queue.waits() == 0 && recounts > 0:
		return queens.Recounting, fmt.Sprintf("%d of %d tasks", recounts, c.state.Header().Manifest.Tasks)
	case isIdle && c.allDone() && len(c.judge.checks) > 0:
		return queens.SpotChecks, ""
	}
	return "", ""
}

// needsOtherWitness reports whether searchers are idle and every present witness has counted all
// tasks that wait.
func (c *Core) needsOtherWitness() bool {
	return c.state.Header().Redundancy > 1 && c.queue.waits() > 0 && c.fleet.wanting.Len() > 0 &&
		!c.waitsForAny()
}

// waitsForAny reports whether a task waits that a present worker may count.
func (c *Core) waitsForAny() bool {
	return c.queue.waitsFor(c.fleet.sums.accepted, c.fleet.sums.witnesses)
}
