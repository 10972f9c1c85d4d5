package coordinator

import (
	"slices"
	"time"

	"nqueens/pkg/coordinator/flight"
	"nqueens/pkg/run"
)

// queue is a model of the queue of chunks. Workers take messages on leases.
type queue struct {
	last     uint64 // sequence given
	messages []*queuedChunk
	removed  []*queuedChunk // the last ones: a server that is rolled back has them again
}

// queuedChunk is the message of a chunk in the queue.
type queuedChunk struct {
	sequence   uint64
	chunk      *run.Chunk
	taken      bool
	deliveries int
	until      time.Time // end of the lease, or of a pause
}

// maxRemoved is the number of removed messages that the model remembers.
const maxRemoved = 16

// publish stores a chunk.
func (q *queue) publish(chunk *run.Chunk) (sequence uint64) {
	q.last++
	q.messages = append(q.messages, &queuedChunk{sequence: q.last, chunk: chunk})
	return q.last
}

// find returns the message of a chunk at a sequence, or nil. After a rollback another chunk may have the sequence.
func (q *queue) find(sequence, chunk uint64) *queuedChunk {
	i := slices.IndexFunc(q.messages, func(m *queuedChunk) bool { return m.sequence == sequence && m.chunk.ID == chunk })
	if i < 0 {
		return nil
	}
	return q.messages[i]
}

// remove removes the message of a chunk, if it is there.
func (q *queue) remove(sequence, chunk uint64) {
	m := q.find(sequence, chunk)
	if m == nil {
		return
	}
	q.messages = slices.DeleteFunc(q.messages, func(one *queuedChunk) bool { return one == m })
	if len(q.removed) == maxRemoved {
		q.removed = q.removed[1:]
	}
	q.removed = append(q.removed, m)
}

// next returns the index-th message that can be taken now, or the last of them, or nil.
func (q *queue) next(now time.Time, index int) (found *queuedChunk) {
	for _, m := range q.messages {
		if !m.until.After(now) {
			if found = m; index == 0 {
				return m
			}
			index--
		}
	}
	return found
}

// execute carries out one of the commands, or fails to.
func (h *host) execute() {
	w := h.w
	if h.stopped || len(h.commands) == 0 || w.fault("request fails", 0.05) {
		return
	}
	i := 0
	if !w.quiet { // requests overtake each other
		i = w.rng.IntN(len(h.commands))
	}
	c := h.commands[i]
	o := outcome{Command: c}
	switch c.Op {
	case flight.Publish:
		o.sequence = w.queue.publish(h.core.message(&c))
	case flight.Check:
		m := w.queue.find(c.Sequence, c.Chunk)
		o.queued = m != nil
		o.taken = m != nil && m.taken
		if w.fault("stale read of the queue", 0.05) {
			o.queued, o.taken = w.rng.IntN(2) == 0, w.rng.IntN(2) == 0
		}
		o.failed = w.fault("check fails", 0.05)
		o.asked = time.Now()
	case flight.Delete:
		w.queue.remove(c.Sequence, c.Chunk)
	}
	w.note("epoch %d: %v chunk %x, tasks %d+%d, sequence %d: %d %v %v", h.epoch, c.Op, c.Chunk, c.First, c.Tasks, c.Sequence, o.sequence, o.queued, o.taken)
	if w.fault("reply lost", 0.03) { // it is sent again
		return
	}
	h.commands = slices.Delete(h.commands, i, i+1)
	h.outcomes = append(h.outcomes, o)
}

// complete tells the coordinator what has become of a command.
func (h *host) complete() {
	if h.stopped || len(h.outcomes) == 0 {
		return
	}
	i := h.w.rng.IntN(len(h.outcomes))
	o := h.outcomes[i]
	h.outcomes = slices.Delete(h.outcomes, i, i+1)
	h.w.note("epoch %d: completed %v chunk %x", h.epoch, o.Op, o.Chunk)
	h.core.completed(time.Now(), &o)
	h.settle()
}

// loseQueue has the queue lose messages, or have some again, as a server does that is restored.
func (w *world) loseQueue() {
	q := &w.queue
	switch w.rng.IntN(3) {
	case 0: // made again
		q.messages, q.last = nil, 0
	case 1: // the end is lost
		n := w.rng.IntN(len(q.messages) + 1)
		q.messages = q.messages[:n]
		if n > 0 {
			q.last = q.messages[n-1].sequence
		}
	}
	if w.rng.IntN(2) == 0 {
		for _, m := range q.removed {
			if w.queue.find(m.sequence, m.chunk.ID) == nil {
				q.messages = append(q.messages, m)
			}
			q.last = max(q.last, m.sequence)
		}
		q.removed = nil
	}
}
