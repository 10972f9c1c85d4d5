package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// tasks is the stream of chunks with its consumers. The mutex of the server protects it.
type tasks struct {
	last      uint64
	messages  []*message // in the order of their sequences
	seen      map[string]sent
	consumers map[string]*consumer // by run
	// gone are the messages removed lately, for answers with old state.
	gone []*message
}

// message is a chunk in the queue. Only its times change.
type message struct {
	sequence  uint64
	chunk     run.Chunk
	published time.Time
	taken     time.Time // when a worker first took it; zero before
	removed   time.Time // zero while it is in the queue
}

// sent is what the server remembers of a message that it has stored.
type sent struct {
	sequence uint64
	at       time.Time
}

func newTasks() *tasks {
	return &tasks{seen: make(map[string]sent), consumers: make(map[string]*consumer)}
}

func (t *tasks) clone() *tasks {
	c := &tasks{last: t.last, seen: maps.Clone(t.seen), consumers: make(map[string]*consumer, len(t.consumers))}
	for _, m := range t.messages {
		same := *m
		c.messages = append(c.messages, &same)
	}
	for name, consumer := range t.consumers {
		c.consumers[name] = consumer.clone()
	}
	return c
}

// remove removes the messages that match, also from their consumers.
func (t *tasks) remove(match func(*message) bool) {
	t.messages = slices.DeleteFunc(t.messages, func(m *message) bool {
		if !match(m) {
			return false
		}
		if c := t.consumers[m.chunk.Run]; c != nil {
			delete(c.pending, m.sequence)
		}
		m.removed = time.Now()
		t.gone = append(t.gone, m)
		return true
	})
	old := time.Now().Add(-staleness)
	t.gone = slices.DeleteFunc(t.gone, func(m *message) bool { return m.removed.Before(old) })
}

// staleness is how old the state of an old answer is.
const staleness = time.Second

// Tasks is the coordinator's side of the queue of chunks.
type Tasks struct{ bus *Bus }

// Tasks returns the coordinator's side of the queue of chunks.
func (b *Bus) Tasks() Tasks { return Tasks{b} }

// Publish stores a chunk and returns the sequence of its message. The same chunk, published again within a
// minute, is stored once.
func (t Tasks) Publish(ctx context.Context, c *run.Chunk) (sequence uint64, err error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	chunk := cloneChunk(c)
	err = t.bus.request(ctx, func() (err error) {
		sequence, err = t.bus.server.storeChunk(chunk)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("publish chunk %016x: %w", c.ID, err)
	}
	return sequence, nil
}

// cloneChunk returns a copy that shares nothing with the chunk, as after a message.
func cloneChunk(c *run.Chunk) run.Chunk {
	clone := *c
	clone.Tasks = make([][]queens.Prefix, len(c.Tasks))
	for i, prefixes := range c.Tasks {
		clone.Tasks[i] = slices.Clone(prefixes)
	}
	return clone
}

// storeChunk stores a chunk at the server. s.mu is held.
func (s *Server) storeChunk(chunk run.Chunk) (sequence uint64, err error) {
	t := s.state.tasks
	if t == nil {
		return 0, errNoStream
	}
	id := fmt.Sprintf("%s/%016x", chunk.Run, chunk.ID)
	if before, known := t.seen[id]; known && time.Since(before.at) < dedupWindow && !s.hit(s.faults.Repeated) {
		return before.sequence, nil
	}
	ofRun := 0
	for _, m := range t.messages {
		if m.chunk.Run == chunk.Run {
			ofRun++
		}
	}
	if s.cfg.MaxChunks > 0 && ofRun >= s.cfg.MaxChunks || s.hit(s.faults.Full) {
		return 0, errFull
	}
	t.last++
	t.seen[id] = sent{t.last, time.Now()}
	t.messages = append(t.messages, &message{sequence: t.last, chunk: chunk, published: time.Now()})
	if c := t.consumers[chunk.Run]; c != nil {
		s.serve(c)
	}
	return t.last, nil
}

// Has reports whether the chunk that was published at that sequence is still in the queue, and whether a
// worker has taken it.
func (t Tasks) Has(ctx context.Context, name string, chunk, sequence uint64) (queued, taken bool, err error) {
	s := t.bus.server
	err = t.bus.request(ctx, func() error {
		if s.state.tasks == nil {
			return errNoStream
		}
		asOf := time.Now()
		if s.hit(s.faults.Stale) {
			asOf = asOf.Add(-staleness)
		}
		queued, taken = s.state.tasks.had(name, chunk, sequence, asOf)
		return nil
	})
	if err != nil {
		return false, false, fmt.Errorf("look for chunk %016x: %w", chunk, err)
	}
	return queued, taken, nil
}

// had is Has as of a time.
func (t *tasks) had(name string, chunk, sequence uint64, asOf time.Time) (queued, taken bool) {
	for _, m := range slices.Concat(t.messages, t.gone) {
		if m.sequence == sequence && m.chunk.Run == name && m.chunk.ID == chunk &&
			!m.published.After(asOf) && (m.removed.IsZero() || m.removed.After(asOf)) {
			return true, !m.taken.IsZero() && !m.taken.After(asOf)
		}
	}
	return false, false
}

// Delete removes the chunk that was published at that sequence. A missing chunk is no error.
func (t Tasks) Delete(ctx context.Context, name string, chunk, sequence uint64) error {
	s := t.bus.server
	return t.bus.request(ctx, func() error {
		if s.state.tasks == nil {
			return errNoStream
		}
		s.state.tasks.remove(func(m *message) bool {
			return m.sequence == sequence && m.chunk.Run == name && m.chunk.ID == chunk
		})
		return nil
	})
}

// Purge removes the chunks of a run, including those that workers hold. A missing stream is no error.
func (t Tasks) Purge(ctx context.Context, name string) error {
	return t.bus.request(ctx, func() error {
		t.bus.server.purgeChunks(name)
		return nil
	})
}

// purgeChunks is Purge at the server. s.mu is held.
func (s *Server) purgeChunks(name string) {
	if s.state.tasks != nil {
		s.state.tasks.remove(func(m *message) bool { return m.chunk.Run == name })
	}
}
