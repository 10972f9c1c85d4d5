package flight

import (
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/schedule"
)

// state is the state of a chunk. The package comment says what each means.
type state uint8

const (
	planned state = iota
	publishing
	published
	away
	checking
	missing
	recalled
	withdrawing
	closed
)

func (s state) String() string {
	return [...]string{"planned", "publishing", "published", "away", "checking", "missing", "recalled", "withdrawing", "closed"}[s]
}

// transitions has the states that can follow each state.
var transitions = [...][]state{
	planned:     {publishing, closed},
	publishing:  {published, recalled, closed},
	published:   {checking, withdrawing, closed},
	away:        {published, checking, withdrawing, closed},
	checking:    {published, away, missing, recalled, closed},
	missing:     {closed},
	recalled:    {withdrawing, closed},
	withdrawing: {closed},
	closed:      {},
}

// chunk is consecutive tasks of one class that are published in one message.
type chunk struct {
	id, first uint64
	tasks     int    // published
	class     int    // index in the manifest
	attempt   uint32 // 1 for the first publication of its tasks

	state       state
	open        int    // tasks that have not left it
	sequence    uint64 // of its message; 0 before that is stored
	publishedAt time.Time
	checkAt     time.Time // when to ask the queue for the message
	expiresAt   time.Time // when it is published again although the queue has it
	missingAt   time.Time // when the queue did not have the message
}

// end returns the id after that of the last task.
func (c *chunk) end() uint64 { return c.first + uint64(c.tasks) }

// to changes the state. It panics if the table does not allow that.
func (c *chunk) to(next state) {
	if !slices.Contains(transitions[c.state], next) {
		panic(fmt.Sprintf("flight: chunk %d can't change from %v to %v", c.id, c.state, next))
	}
	c.state = next
}

// plan makes a chunk of tasks, which enter it, and gives the command to publish it.
func (f *Flight) plan(first uint64, tasks int, attempt uint32) {
	c := &chunk{
		id: f.cfg.NewID(), first: first, tasks: tasks, open: tasks, attempt: attempt, class: f.cfg.Manifest.ClassOf(first),
	}
	for id := first; id < c.end(); id++ {
		f.enter(id, c)
	}
	f.chunks[c.id] = c
	f.bytes += tasks * f.taskBytes(c.class)
	f.orders.publications = append(f.orders.publications, c)
}

// taskBytes estimates the bytes of the prefixes of a task of a class.
func (f *Flight) taskBytes(class int) int {
	return schedule.PrefixBytes * f.cfg.Manifest.Classes[class].Batch
}

// enter notes that a task is in a chunk, or, if c is nil, that it waits for one.
func (f *Flight) enter(task uint64, c *chunk) {
	if _, known := f.where[task]; !known {
		f.tasks[f.cfg.Manifest.ClassOf(task)]++
	}
	f.where[task] = c
}

// leave takes a task out of flight, and returns the chunk that it was in, or nil. The caller must call vacate
// for that chunk.
func (f *Flight) leave(task uint64) *chunk {
	c, known := f.where[task]
	if known {
		delete(f.where, task)
		f.tasks[f.cfg.Manifest.ClassOf(task)]--
	}
	return c
}

// vacate notes that open tasks have left a chunk.
func (f *Flight) vacate(now time.Time, c *chunk, tasks int) {
	c.open -= tasks
	if c.open == 0 && tasks > 0 {
		f.remember(c.id, past{at: now})
	}
}

// replan takes the open tasks of a chunk out of it, from an id on: they wait for a chunk of the given attempt. If
// one of them is suspect, they get two chunks.
func (f *Flight) replan(now time.Time, c *chunk, from uint64, attempt uint32) {
	b := batch{first: from, tasks: int(c.end() - from), attempt: attempt}
	suspect := false
	for id := from; id < c.end(); id++ {
		if f.where[id] == c {
			f.where[id] = nil
			b.most++
			suspect = suspect || f.losses[id].isSuspect()
		}
	}
	if b.most == 0 {
		return
	}
	f.vacate(now, c, b.most)
	if suspect {
		b.most = (b.most + 1) / 2
	}
	f.again.push(b)
}

// recall gives the command to delete the message of a chunk, now or when the outstanding command has ended. It closes
// a chunk without a message if no task is left in it; otherwise it leaves such a chunk as it is.
func (f *Flight) recall(c *chunk) {
	switch c.state {
	case planned, missing:
		if c.open == 0 {
			f.close(c)
		}
	case publishing, checking:
		c.to(recalled)
	case published, away:
		f.withdraw(c)
	case recalled, withdrawing, closed:
	}
}

// withdraw gives the command to delete the message of a chunk.
func (f *Flight) withdraw(c *chunk) {
	c.to(withdrawing)
	f.orders.others = append(f.orders.others, c)
}

// close ends the life of a chunk, which has no open task any more.
func (f *Flight) close(c *chunk) {
	c.to(closed)
	delete(f.chunks, c.id)
	f.bytes -= c.tasks * f.taskBytes(c.class)
}
