package coordinator

import (
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// maxLosses is the number of known keys that lose a worker while it searches a task after which the task
// is dead-lettered: one key alone never gets a task out of the queue, whatever its workers say. It also is
// the number of workers, of any keys, after which the coordinator counts the task at the end.
const maxLosses = 3

// loss is a worker that was lost while it searched a task.
type loss struct {
	key, worker string
	known       bool // the key has accepted results in this run
}

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

// noteLost notes that a worker was lost while searching a chunk. From the second such worker of a known key
// on, a chunk of several tasks is published again in halves, which are suspect. Not from the first: it may
// have searched hundreds of chunks, as devices do, of which one at most is to blame, and a worker
// searches one suspect chunk at a time. A single task that too many known keys have lost workers to is
// dead-lettered: noteLost returns it, and the workers lost last; otherwise nil.
func (w *window) noteLost(chunk uint64, l loss) (task uint64, workers []string) {
	c := w.chunks[chunk]
	if c == nil {
		return 0, nil
	}
	suspect := false
	for _, id := range w.openTasks(c) {
		t := w.tasks[id]
		if t.deadLettered || !t.lose(l) {
			continue
		}
		suspect = suspect || t.isSuspect()
		if c.tasks == 1 && t.lostKeys() >= maxLosses {
			if t.agreed { // a spot check is not worth that
				w.accepted(id, 0, 0)
				continue
			}
			w.deadLetter(t)
			return id, t.lostWorkers()
		}
	}
	if c.tasks > 1 && suspect {
		w.withdrawChunk(c, halves)
	}
	return 0, nil
}

// lose notes a worker that was lost, and reports whether it is another one than those before. It keeps
// the last maxLosses workers of known keys, of these rather those of different keys, and as many of
// others: anybody can claim to hold a chunk, and fall silent.
func (t *inflightTask) lose(l loss) bool {
	if slices.Contains(t.lost, l) {
		return false
	}
	t.lost = append(t.lost, l)
	if t.losses(l.known) > maxLosses {
		drop := slices.IndexFunc(t.lost, func(one loss) bool {
			return one.known == l.known && slices.ContainsFunc(t.lost, func(other loss) bool {
				return other.known == one.known && other.key == one.key && other != one
			})
		})
		if drop < 0 {
			drop = slices.IndexFunc(t.lost, func(one loss) bool { return one.known == l.known })
		}
		t.lost = slices.Delete(t.lost, drop, drop+1)
	}
	return true
}

// lostKeys returns how many known keys have lost workers to a task.
func (t *inflightTask) lostKeys() int {
	keys := make(map[string]bool)
	for _, l := range t.lost {
		if l.known {
			keys[l.key] = true
		}
	}
	return len(keys)
}

// lostWorkers returns the names of the workers lost last.
func (t *inflightTask) lostWorkers() (names []string) {
	for _, l := range t.lost {
		names = append(names, l.worker)
	}
	return names
}

// isSuspect reports whether a task may be what kills workers: more than one of known keys was lost while
// searching it.
func (t *inflightTask) isSuspect() bool { return t.losses(true) > 1 }

// losses returns how many workers of known keys a task has lost, or of others.
func (t *inflightTask) losses(known bool) (workers int) {
	for _, l := range t.lost {
		if l.known == known {
			workers++
		}
	}
	return workers
}

// deadLetter withdraws a task for good: no worker gets it any more.
func (w *window) deadLetter(t *inflightTask) {
	t.deadLettered = true
	w.deadLettered++
	if t.disputed { // count it once
		t.disputed = false
		w.disputed--
	}
	if t.chunk != nil {
		w.exempt(t.chunk)
		w.withdrawChunk(t.chunk, forever)
	}
}

// nextLost returns the first task in flight that is dead-lettered, or has lost as many workers of any keys,
// and for which skip does not report true, if nothing else is left but disputes and spot checks.
func (w *window) nextLost(skip func(id uint64) bool) (first uint64, found bool) {
	if !w.exhausted || w.draft != nil {
		return 0, false
	}
	for id, t := range w.tasks {
		switch {
		case t.deadLettered || len(t.lost) >= maxLosses && !t.disputed && !t.agreed:
			if !skip(id) && (!found || id < first) {
				first, found = id, true
			}
		case !t.disputed && !t.agreed:
			return 0, false
		}
	}
	return first, found
}
