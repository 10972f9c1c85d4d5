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
	c := f.orders.next()
	if c == nil {
		return Command{}, false
	}
	cmd := Command{Op: c.waitsTo(), Chunk: c.id, First: c.first, Tasks: c.tasks, Sequence: c.sequence}
	if cmd.Op == Publish {
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
		c.sequence, c.publishedAt = sequence, now
		c.checkAt = now.Add(f.cfg.CheckAfter)
		c.expiresAt = now.Add(f.timeout(c.tasks, c.attempt))
		f.sent = append(f.sent, c)
	case c.state == recalled:
		c.sequence = sequence
		f.sent = append(f.sent, c)
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
	case taken:
		c.to(away)
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
	return c
}

// Deleted says that the queue does not have the message of a chunk any more.
func (f *Flight) Deleted(now time.Time, chunk uint64) {
	c := f.chunks[chunk]
	if c == nil || c.state != withdrawing {
		return
	}
	if c.open > 0 {
		f.replan(now, c, c.first, c.attempt+1)
		f.remember(c.id, past{now, c.first, c.tasks})
	}
	f.close(c)
}

// waitsTo returns the command of a chunk that has one waiting.
func (c *chunk) waitsTo() Op {
	switch c.state {
	case planned:
		return Publish
	case withdrawing:
		return Delete
	}
	return Check
}

// orders has the chunks with a command that waits, in two queues that take turns. The state of a chunk says which
// command that is; that of a closed chunk is void.
type orders struct {
	publications, others []*chunk
	othersTurn           bool // others are next
}

// next removes the chunk with the next command, and returns nil if there is none.
func (q *orders) next() *chunk {
	q.publications, q.others = skipClosed(q.publications), skipClosed(q.others)
	from := &q.publications
	if len(q.publications) == 0 || q.othersTurn && len(q.others) > 0 {
		from = &q.others
	}
	if len(*from) == 0 {
		return nil
	}
	c := (*from)[0]
	*from = (*from)[1:]
	q.othersTurn = from == &q.publications
	return c
}

func skipClosed(list []*chunk) []*chunk {
	for len(list) > 0 && list[0].state == closed {
		list = list[1:]
	}
	return list
}
