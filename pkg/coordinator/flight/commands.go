package flight

import "time"

// Op is what a command tells the loop to do with the message of a chunk.
type Op uint8

const (
	// Publish means: make the message, store it in the queue, and call Published.
	Publish Op = iota
	// Check means: ask the queue whether it has the message, and call Checked or CheckFailed.
	Check
	// Delete means: delete the message from the queue, if it is there, and call Deleted.
	Delete
)

func (op Op) String() string { return [...]string{"publish", "check", "delete"}[op] }

// Command is one thing that the loop must do.
type Command struct {
	Op       Op
	Chunk    uint64 // id
	First    uint64 // its first task
	Tasks    int    // their number
	Suspect  bool   // for Publish: a task of the chunk may be what kills workers
	Sequence uint64 // for Check and Delete: of the message in the queue, as Published said
}

// Next returns the next command, unless there is none. The loop must execute each command, in any order and
// several at once, and call the method that its Op names. Chunks to publish, and checks and deletions, take
// turns, so that neither waits for all of the other.
func (f *Flight) Next() (Command, bool) {
	o, found := f.orders.next()
	if !found {
		return Command{}, false
	}
	c := o.chunk
	cmd := Command{Op: o.op, Chunk: c.id, First: c.first, Tasks: c.tasks, Sequence: c.sequence}
	if o.op == Publish {
		c.to(publishing)
		for id := c.first; id < c.end() && !cmd.Suspect; id++ {
			cmd.Suspect = f.losses[id].isSuspect()
		}
	}
	return cmd, true
}

// Published says that the message of a chunk is in the queue, at a sequence other than 0.
func (f *Flight) Published(now time.Time, chunk, sequence uint64) {
	c := f.chunks[chunk]
	switch {
	case c == nil || c.sequence != 0:
	case c.state == publishing:
		c.to(published)
		if c.attempt > 1 {
			f.republished += uint64(c.open)
		}
		c.sequence = sequence
		c.checkAt = now.Add(f.cfg.CheckAfter)
		c.expiresAt = now.Add(f.timeout(c.tasks, c.attempt))
		f.watch.add(c, c.checkAt)
	case c.state == recalled:
		c.sequence = sequence
		f.watch.add(c, never)
		f.withdraw(c)
	}
}

// Checked says whether the queue had the message of a chunk at a time, and if so, whether a worker had taken it.
func (f *Flight) Checked(now time.Time, chunk uint64, asOf time.Time, queued, taken bool) {
	c := f.checked(now, chunk)
	switch {
	case c == nil:
	case !queued:
		c.to(missing)
		c.missingAt = asOf
		f.watch.lookAt(c, time.Time{})
	case taken:
		c.to(away)
		f.watch.lookAt(c, time.Time{})
	default:
		c.to(published)
	}
}

// CheckFailed says that the queue did not answer. It is asked again later.
func (f *Flight) CheckFailed(now time.Time, chunk uint64) {
	if c := f.checked(now, chunk); c != nil {
		c.to(published)
	}
}

// checked ends the check of a chunk, and returns the chunk if its new state depends on the outcome.
func (f *Flight) checked(now time.Time, chunk uint64) *chunk {
	c := f.chunks[chunk]
	switch {
	case c == nil || c.sequence == 0:
		return nil
	case c.state == recalled:
		f.withdraw(c)
		return nil
	case c.state != checking:
		return nil
	}
	c.checkAt = now.Add(f.cfg.CheckAfter)
	f.watch.lookAt(c, c.checkAt)
	return c
}

// Deleted says that the queue does not have the message of a chunk any more.
func (f *Flight) Deleted(now time.Time, chunk uint64) {
	c := f.chunks[chunk]
	if c == nil || c.state != withdrawing {
		return
	}
	if c.open > 0 {
		f.past.addSlow(c)
		f.replan(now, c, c.first, c.attempt+1)
	}
	f.close(c)
}

// order is a command that waits.
type order struct {
	op    Op
	chunk *chunk
}

// isVoid reports whether the chunk of an order is closed.
func (o *order) isVoid() bool { return o.chunk.state == closed }

// orders has the commands that wait, in two queues that take turns.
type orders struct {
	publications, others []order
	fresh                int  // publications of chunks from the cursor that are not closed
	othersTurn           bool // others are next
}

func (q *orders) publish(c *chunk) {
	q.publications = append(q.publications, order{Publish, c})
	if c.fresh {
		q.fresh++
	}
}

// unpublish notes that the Publish command of a chunk became void.
func (q *orders) unpublish(c *chunk) {
	if c.fresh {
		q.fresh--
	}
}

func (q *orders) upkeep(op Op, c *chunk) { q.others = append(q.others, order{op, c}) }

// next removes the next order, if there is one.
func (q *orders) next() (o order, found bool) {
	q.publications, q.others = skipVoid(q.publications), skipVoid(q.others)
	from := &q.publications
	if len(q.publications) == 0 || q.othersTurn && len(q.others) > 0 {
		from = &q.others
	}
	if len(*from) == 0 {
		return order{}, false
	}
	o = (*from)[0]
	*from = (*from)[1:]
	q.othersTurn = o.op == Publish
	if o.op == Publish {
		q.unpublish(o.chunk)
	}
	return o, true
}

func skipVoid(list []order) []order {
	for len(list) > 0 && list[0].isVoid() {
		list = list[1:]
	}
	return list
}
