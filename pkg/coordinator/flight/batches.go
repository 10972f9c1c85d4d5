package flight

// batch is consecutive tasks that wait to be published again, and perhaps others between them, which have left
// since.
type batch struct {
	first   uint64
	tasks   int
	attempt uint32
	most    int // tasks of a chunk; 0 if the guide decides
}

// drop removes the first tasks.
func (b *batch) drop(tasks int) {
	b.first += uint64(tasks)
	b.tasks -= tasks
}

// batches is a queue of them.
type batches struct{ list []batch }

func (q *batches) push(b batch)  { q.list = append(q.list, b) }
func (q *batches) first() *batch { return &q.list[0] }
func (q *batches) pop()          { q.list = q.list[1:] }

// add adds tasks, to the last batch if they follow its tasks.
func (q *batches) add(first uint64, tasks int) {
	if n := len(q.list); n > 0 {
		if last := &q.list[n-1]; last.most == 0 && last.first+uint64(last.tasks) == first {
			last.tasks += tasks
			return
		}
	}
	q.push(batch{first: first, tasks: tasks, attempt: 1})
}

// cursor passes over the tasks of the run once, in order of id, and in between over those that it must visit again.
type cursor struct {
	next, end uint64
	visits    batches
}

// peek returns the task that the cursor is at, unless it has passed over all.
func (c *cursor) peek() (task uint64, found bool) {
	if len(c.visits.list) > 0 {
		return c.visits.first().first, true
	}
	return c.next, c.next < c.end
}

// pass moves the cursor to the next task.
func (c *cursor) pass() {
	if len(c.visits.list) == 0 {
		c.next++
		return
	}
	b := c.visits.first()
	b.drop(1)
	if b.tasks == 0 {
		c.visits.pop()
	}
}

func (c *cursor) isAtEnd() bool { return len(c.visits.list) == 0 && c.next == c.end }
