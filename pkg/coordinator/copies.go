package coordinator

import (
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// copyState is what the window knows of a chunk as a copy: one that is published again, with the
// same tasks, because more voters must agree on them.
type copyState struct {
	isCopy    bool
	parked    bool            // it waits for a voter that has not counted its tasks
	counted   int             // open tasks of which a result of this chunk is here
	gained    bool            // such a result was worth something
	vain      int             // copies in a row, up to this one, whose results were worth nothing
	notBefore time.Time       // when it may be published
	voters    []queens.Result // one of each that has counted the task with the fewest, once it was looked up

	kept  [][]queens.Prefix // of its tasks, if the window keeps them
	board queens.Board
}

// A copy whose results are worth nothing was drawn by a worker that had counted its tasks: workers
// decline such chunks only a few times. The first copy after that is published at once, the next
// ones after a pause that doubles from the first to the last. After manyVain of them nobody else
// seems to be there, and a spot check is left to the coordinator. Where a task needs further voters, the
// copies go on.
const (
	firstVainPause = time.Second
	lastVainPause  = time.Minute
	manyVain       = 8
)

func vainPause(vain int) time.Duration {
	if vain < 2 {
		return 0
	}
	return min(firstVainPause<<min(vain-2, 10), lastVainPause)
}

// enter puts a task in a chunk that will be published.
func (t *inflightTask) enter(c *inflightChunk) {
	t.attempt++
	t.chunk = c
	c.attempt = max(c.attempt, t.attempt-t.copies)
}

// maxConsidered is the number of parked chunks that one call of considerCopies looks at.
const maxConsidered = 1 << 8

// considerAll has every parked chunk considered soon: the voters connected may have changed, or the
// time to publish a chunk may have come.
func (c *Coordinator) considerAll() {
	if c.toConsider == 0 {
		c.toConsider = len(c.window.parked)
	}
}

// considerCopies publishes those of the next parked chunks that wait for a voter that is connected
// now, or has the coordinator count those that are spot checks. The event loop calls it while some
// are left to consider.
func (c *Coordinator) considerCopies() error {
	looks := min(maxConsidered, len(c.window.parked))
	c.toConsider = max(0, min(c.toConsider, len(c.window.parked))-looks)
	for ; looks > 0 && c.reconciled; looks-- {
		if chunk := c.window.nextParked(); chunk != nil {
			if err := c.considerCopy(chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Coordinator) considerCopy(chunk *inflightChunk) (err error) {
	if _, taken := c.checker.chunks[chunk]; taken || !chunk.parked || time.Now().Before(chunk.notBefore) {
		return nil
	}
	if chunk.voters == nil {
		open := c.window.openTasks(chunk)
		if len(open) == 0 {
			return nil
		}
		fewest := slices.MinFunc(open, func(a, b uint64) int { return c.ledger.Voters(a) - c.ledger.Voters(b) })
		if chunk.voters, err = c.ledger.Supporters(fewest); err != nil {
			return err
		}
	}
	if !c.ownChecks && (chunk.vain < manyVain || c.window.lacksVoters(chunk)) && c.trust.isConnected(chunk.voters) {
		c.window.release(chunk)
		return nil
	}
	return c.checkItself(chunk)
}

// lacksVoters reports whether too few voters agree on an open task of a chunk: it is no spot check.
func (w *window) lacksVoters(c *inflightChunk) bool {
	return slices.ContainsFunc(w.openTasks(c), func(id uint64) bool { return !w.tasks[id].agreed })
}

// setAgreed notes whether as many voters agree on a task in flight as on every task.
func (w *window) setAgreed(t *inflightTask, agreed bool) {
	if t.agreed == agreed {
		return
	}
	t.agreed = agreed
	if agreed {
		w.checks++
		w.flying[t.class]--
	} else {
		w.checks--
		w.flying[t.class]++
	}
}

// counted notes a result of a task on which too few voters agree still, of a chunk. It gained
// something if its voter is another one than those before.
func (w *window) counted(id, chunk uint64, gained bool) {
	t := w.tasks[id]
	if _, early := w.early[id]; early { // it waits for voters, and not to be published
		delete(w.early, id)
		w.park([]uint64{id})
		return
	}
	if t == nil || t.chunk == nil || t.chunk.id != chunk || t.disputed || t.deadLettered {
		return
	}
	c := t.chunk
	c.gained = c.gained || gained
	w.touched[c] = struct{}{}
	if !t.counted {
		t.counted = true
		c.counted++
	}
}

// closeCounted closes the chunks of which every open task was counted, and parks a copy of each.
func (w *window) closeCounted() (copies []*inflightChunk) {
	for c := range w.touched {
		if w.chunks[c.id] == c && c != w.draft && c.open > 0 && c.counted == c.open {
			copies = append(copies, w.copyChunk(c, c.id)...)
		}
	}
	clear(w.touched)
	return copies
}

// copyChunk closes a chunk and parks copies of it: one, if all its tasks are open. The message is
// deleted unless it is that of the chunk named, which its worker acknowledges.
func (w *window) copyChunk(c *inflightChunk, named uint64) (copies []*inflightChunk) {
	open := w.openTasks(c)
	for _, id := range open {
		w.leave(w.tasks[id], named)
	}
	for len(open) > 0 {
		ids := open[:consecutive(open)]
		open = open[len(ids):]
		next := w.park(ids)
		if !c.gained {
			next.vain = c.vain + 1
			next.notBefore = time.Now().Add(vainPause(next.vain))
		}
		if c.kept != nil {
			next.kept, next.board = c.kept[ids[0]-c.first:][:len(ids)], c.board
		}
		copies = append(copies, next)
	}
	return copies
}

// park puts a chunk in flight that is published when it is released.
func (w *window) park(ids []uint64) *inflightChunk {
	c := w.planChunk(ids)
	for _, id := range ids {
		w.tasks[id].copies++
	}
	c.attempt--
	c.isCopy, c.parked = true, true
	w.parked[c] = struct{}{}
	if len(w.rotation) > 2*len(w.parked) { // most are not parked any more
		w.rotation = slices.DeleteFunc(w.rotation, func(old *inflightChunk) bool { return !w.isParked(old) })
	}
	w.rotation = append(w.rotation, c)
	return c
}

func (w *window) isParked(c *inflightChunk) bool { _, ok := w.parked[c]; return ok }

// nextParked returns the next parked chunk, in turn, or nil if there is none.
func (w *window) nextParked() *inflightChunk {
	for len(w.rotation) > 0 {
		c := w.rotation[0]
		w.rotation = w.rotation[1:]
		if w.isParked(c) {
			w.rotation = append(w.rotation, c)
			return c
		}
	}
	return nil
}

// release has a parked chunk published: those of its tasks that are open.
func (w *window) release(c *inflightChunk) {
	ids := w.openTasks(c)
	if len(ids) < c.tasks {
		c.gained = true
		for _, next := range w.copyChunk(c, 0) {
			w.release(next)
		}
		return
	}
	c.parked = false
	delete(w.parked, c)
	if c.kept == nil {
		w.await(c, ids)
		return
	}
	c.message.Board = c.board
	copy(c.message.Tasks, c.kept)
	for _, prefixes := range c.kept {
		w.grow(c, prefixes)
	}
	w.enqueue(c, opPublish)
}

// undisputed publishes a task again as others, on which too few voters agree: its dispute is over.
func (w *window) undisputed(id, hash uint64) {
	t := w.tasks[id]
	if t == nil {
		t = w.insert(id, hash)
	}
	if t.disputed {
		t.disputed = false
		w.disputed--
	}
	if t.deadLettered {
		return
	}
	w.leave(t, 0)
	w.park([]uint64{id})
}

// addCheck puts a task in flight on which as many voters agree as on every task, for a spot check.
func (w *window) addCheck(id, hash uint64, need int) {
	t := w.insert(id, hash)
	t.need = need
	w.setAgreed(t, true)
}

// dropChecks takes the spot checks out of flight, and returns how many tasks they had.
func (w *window) dropChecks() (tasks int) {
	for id, t := range w.tasks {
		if t.agreed && !t.disputed {
			w.dropCheck(id)
			tasks++
		}
	}
	return tasks
}

// dropCheck takes a spot check out of flight that was not made.
func (w *window) dropCheck(id uint64) {
	w.missed++
	w.accepted(id, 0, 0)
}

// onlyChecks reports whether nothing but spot checks, disputes and dead-lettered tasks are left.
func (w *window) onlyChecks() bool {
	return w.exhausted && w.draft == nil && w.next == nil && len(w.tasks) == w.deadLettered+w.disputed+w.checks
}
