package coordinator

import (
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// republish closes a chunk whose message is gone, and plans new chunks for its tasks, unless
// they are withdrawn forever. Their prefixes have to be looked up first.
func (w *window) republish(c *inflightChunk, how withdrawal) {
	open := w.openTasks(c)
	for _, id := range open {
		w.leave(w.tasks[id], c.id)
	}
	if len(open) == 0 {
		w.drop(c)
	}
	if how == forever {
		return
	}
	for len(open) > 0 {
		n := consecutive(open)
		if half := (len(open) + 1) / 2; how == halves && n > half {
			n = half
			how = whole
		}
		w.plan(open[:n])
		open = open[n:]
	}
}

// consecutive returns how many of the first ids follow each other.
func consecutive(ids []uint64) int {
	n := 1
	for n < len(ids) && ids[n] == ids[0]+uint64(n) {
		n++
	}
	return n
}

// openTasks returns the ids of the tasks that are in flight in a chunk.
func (w *window) openTasks(c *inflightChunk) (open []uint64) {
	for id := c.first; id < c.first+uint64(c.tasks); id++ {
		if t := w.tasks[id]; t != nil && t.chunk == c {
			open = append(open, id)
		}
	}
	return open
}

// plan puts a chunk of consecutive tasks in flight, and has their prefixes looked up.
func (w *window) plan(ids []uint64) { w.await(w.planChunk(ids), ids) }

// planChunk puts a chunk of consecutive tasks in flight.
func (w *window) planChunk(ids []uint64) *inflightChunk {
	c := w.newChunk(ids[0], len(ids))
	c.busy = true
	c.message.Tasks = make([][]queens.Prefix, len(ids))
	if !slices.ContainsFunc(ids, func(id uint64) bool { t := w.tasks[id]; return !t.agreed && !t.disputed }) {
		c.share = 0 // spot checks, or a dispute: that is no part of the run's work
		w.exempt(c)
	}
	for _, id := range ids {
		t := w.tasks[id]
		t.enter(c)
		c.open++
		c.message.Suspect = c.message.Suspect || t.isSuspect()
		w.flight += c.share
	}
	return c
}

// await has the prefixes of the tasks of a chunk looked up, and then the chunk published.
func (w *window) await(c *inflightChunk, ids []uint64) {
	c.missing = len(ids)
	for _, id := range ids {
		w.planned[id] = c
	}
	w.wanted = append(w.wanted, ids...)
}

// found takes a task that was looked up. When its chunk has all its tasks, it is published.
func (w *window) found(task *queens.Task) {
	c := w.planned[task.ID]
	if c == nil {
		return
	}
	delete(w.planned, task.ID)
	c.message.Board = task.Board
	c.message.Tasks[task.ID-c.first] = task.Prefixes
	c.missing--
	if w.chunks[c.id] != c { // accepted in the meantime
		return
	}
	w.grow(c, task.Prefixes)
	if c.missing == 0 {
		w.enqueue(c, opPublish)
	}
}

// withdrawChunk has the message of a chunk deleted, and then its tasks published again, or not.
func (w *window) withdrawChunk(c *inflightChunk, how withdrawal) {
	c.withdraw = max(c.withdraw, how)
	if !c.busy {
		w.enqueue(c, opDelete)
	}
}

// returned handles the result of a part of a chunk: a worker that stopped has counted the first
// tasks, and acknowledged the message. The others are published again, or all if its key is refused.
func (w *window) returned(r *queens.ChunkResult, refused bool) {
	c := w.chunks[r.Chunk]
	if c != nil {
		c.answered = true
	}
	if c == nil || c.busy || c.open == 0 || r.First != c.first || len(r.Counts) >= c.tasks && !refused {
		return
	}
	for _, id := range w.openTasks(c) {
		w.tasks[id].attempt-- // it was not lost
	}
	w.republish(c, whole)
}

// sweep finds chunks that are in flight for too long. It asks the queue for them, unless a
// worker holds them, and republishes those that were missing at the last check, which it
// returns as lost, and those past their timeout, which it returns as expired. Every result
// that the server had at the time caughtUp is recorded.
//
// A chunk that a worker has taken, and that none holds, is away: its worker has postponed it, perhaps for
// years. While workers are idle, as idle says, it is withdrawn and published again. Held has the chunks
// that workers hold, with the time of the last heartbeat that named them.
func (w *window) sweep(held map[uint64]time.Time, idle bool, caughtUp time.Time) (lost, expired []*inflightChunk) {
	now := time.Now()
	w.idle = idle
	for id := range w.early {
		delete(w.early, id)
		w.plan([]uint64{id})
	}
	for _, c := range w.chunks {
		heldAt, isHeld := held[c.id]
		c.away = c.away && !isHeld
		switch {
		case c.busy || c.streamSeq == 0:
		case c.away && idle:
			w.withdrawAway(c)
		case now.Before(c.checkAt):
		case !c.missingAt.IsZero():
			if caughtUp.After(c.missingAt) {
				lost = append(lost, c)
			}
		case !now.Before(c.expiresAt):
			expired = append(expired, c)
		case isHeld:
			c.checkAt = heldAt.Add(w.cfg.CheckAfter)
		default:
			w.enqueue(c, opCheck)
		}
	}
	for _, c := range lost {
		c.streamSeq = 0 // nothing is left to delete
		w.republish(c, whole)
	}
	for _, c := range expired {
		w.withdrawChunk(c, whole)
	}
	if now.Sub(w.sweptAt) > closedFor {
		w.sweptAt = now
		for id, at := range w.closed {
			if now.Sub(at) > closedFor {
				delete(w.closed, id)
			}
		}
		for id, c := range w.slow {
			if !w.isInFlight(c) {
				delete(w.slow, id)
			}
		}
	}
	return lost, expired
}

// closedFor is how long a chunk is remembered at least after it was in flight.
const closedFor = time.Minute

// obsoleteAfter is how long a worker may still name a chunk that is not in flight any more:
// it reports the result, and sends its next heartbeat.
const obsoleteAfter = time.Second

// isObsolete reports whether a worker holds a chunk in vain that a heartbeat named at that time.
// One that took long is not obsolete before its tasks have results: its search may be the first to
// end, for no timeout is known to be long enough before the first result.
func (w *window) isObsolete(chunk uint64, namedAt time.Time) bool {
	if w.chunks[chunk] != nil {
		return false
	}
	if slow := w.slow[chunk]; slow != nil && w.isInFlight(slow) {
		return false
	}
	at, known := w.closed[chunk]
	return !known || namedAt.Sub(at) > obsoleteAfter
}

// isInFlight reports whether a task of a chunk is in flight, in that chunk or another.
func (w *window) isInFlight(c *inflightChunk) bool {
	for id := c.first; id < c.first+uint64(c.tasks); id++ {
		if w.tasks[id] != nil {
			return true
		}
	}
	return false
}

// recount publishes a task alone whose results contradict each other. Its attempt will be
// beyond the given one.
func (w *window) recount(task *queens.Task, attempt uint32) {
	t := w.add(task)
	if t.deadLettered || w.planned[task.ID] != nil {
		return
	}
	w.setAgreed(t, false)
	delete(w.early, task.ID)
	w.leave(t, 0)
	if !t.disputed {
		t.disputed = true
		w.disputed++
	}
	t.attempt = max(t.attempt, attempt)
	c := w.newChunk(task.ID, 1)
	c.message.Board = task.Board
	w.exempt(c)
	w.append(c, task)
	w.enqueue(c, opPublish)
}

// repeated notes that a result of a task changed nothing. If the task is disputed, the worker
// had counted it before: it is published again soon.
func (w *window) repeated(id, chunk uint64) {
	t := w.tasks[id]
	if t == nil || !t.disputed || t.chunk == nil || t.chunk.id != chunk {
		return
	}
	t.chunk.checkAt = time.Now()
}

// withdrawAway has a chunk published again that no worker holds, although one has taken it.
func (w *window) withdrawAway(c *inflightChunk) {
	c.away = false
	w.away++
	w.withdrawChunk(c, whole)
}
