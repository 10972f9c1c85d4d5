package memory

import (
	"context"
	"errors"
	"slices"
	"time"

	"nqueens/pkg/run"
)

// consumer delivers the chunks of one run to workers. The mutex of the server protects it.
type consumer struct {
	run       string
	delivered uint64 // sequence of the last chunk that was delivered
	pending   map[uint64]delivery
	pulls     []*pull
	timer     *time.Timer // for the next lease that lapses, while requests wait; nil before the first
}

// delivery is a chunk that was delivered and not acknowledged.
type delivery struct {
	times int       // that it was delivered
	due   time.Time // when it may be delivered again
}

// pull is a request for one chunk that waits at the server.
type pull struct {
	queue   *Queue
	run     string
	expires time.Time
}

func newConsumer(name string) *consumer {
	return &consumer{run: name, pending: make(map[uint64]delivery)}
}

func (c *consumer) clone() *consumer {
	same := newConsumer(c.run)
	same.delivered = c.delivered
	for sequence, d := range c.pending {
		same.pending[sequence] = d
	}
	return same
}

// next delivers the next chunk, if there is one: the one whose lease lapsed first, or else the first new one.
// s.mu is held.
func (s *Server) next(c *consumer) (loan loan, ok bool) {
	t, now := s.state.tasks, time.Now()
	var found *message
	for _, m := range t.messages {
		d, pending := c.pending[m.sequence]
		if pending && !d.due.After(now) && (found == nil || d.due.Before(c.pending[found.sequence].due)) {
			found = m
		}
	}
	queued := 0
	for _, m := range t.messages {
		if m.chunk.Run != c.run || m.sequence <= c.delivered {
			continue
		}
		if found == nil {
			found = m
		} else if m != found {
			queued++
		}
	}
	if found == nil {
		return loan, false
	}
	d := c.pending[found.sequence]
	d.times++
	d.due = now.Add(s.cfg.Lease)
	c.pending[found.sequence] = d
	c.delivered = max(c.delivered, found.sequence)
	if found.taken.IsZero() {
		found.taken = now
	}
	loan.lease = lease{run: c.run, sequence: found.sequence, times: d.times}
	loan.chunk, loan.queued = cloneChunk(&found.chunk), queued
	return loan, true
}

// serve answers the requests that wait for chunks of a consumer. s.mu is held.
func (s *Server) serve(c *consumer) {
	if s.away || s.state.tasks == nil || s.state.tasks.consumers[c.run] != c {
		return
	}
	now := time.Now()
	c.pulls = slices.DeleteFunc(c.pulls, func(p *pull) bool { return !p.expires.After(now) })
	for len(c.pulls) > 0 {
		next, ok := s.next(c)
		if !ok {
			break
		}
		p := c.pulls[0]
		c.pulls = c.pulls[1:]
		if !s.hit(s.faults.LostMessage) {
			time.AfterFunc(latency+s.delay(), func() { p.queue.arrive(next, p) })
		}
	}
	if len(c.pulls) > 0 {
		s.serveLater(c, now)
	}
}

// serveLater has serve called when the next lease lapses. s.mu is held.
func (s *Server) serveLater(c *consumer, now time.Time) {
	var due time.Time
	for _, d := range c.pending {
		if due.IsZero() || d.due.Before(due) {
			due = d.due
		}
	}
	if due.IsZero() {
		return
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(max(due.Sub(now), time.Nanosecond), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.serve(c)
	})
}

// dropPulls forgets requests that wait. s.mu is held.
func (s *Server) dropPulls(match func(*pull) bool) {
	if s.state.tasks == nil {
		return
	}
	for _, c := range s.state.tasks.consumers {
		c.pulls = slices.DeleteFunc(c.pulls, match)
	}
}

// loan is a chunk on its way to a worker.
type loan struct {
	lease
	chunk  run.Chunk
	queued int
}

// lease implements [run.Lease]. Like the acknowledgements of a real server, it names a chunk by its
// sequence only: after a rollback another chunk may have that.
type lease struct {
	bus      *Bus
	run      string
	sequence uint64
	times    int // that the chunk was delivered, with this one
}

var _ run.Lease = lease{}

func (l lease) Redelivered() int { return l.times - 1 }

func (l lease) Extend() error {
	return l.bus.send(func() { l.setDue(l.bus.server.cfg.Lease) })
}

func (l lease) Release() error { return l.Postpone(0) }

func (l lease) Postpone(delay time.Duration) error {
	return l.bus.send(func() { l.setDue(delay) })
}

// setDue sets when the chunk may be delivered again. s.mu is held.
func (l lease) setDue(in time.Duration) {
	c := l.consumer()
	if c == nil {
		return
	}
	if d, held := c.pending[l.sequence]; held {
		d.due = time.Now().Add(in)
		c.pending[l.sequence] = d
		l.bus.server.serve(c)
	}
}

// consumer returns the run's consumer, or nil if there is none. s.mu is held.
func (l lease) consumer() *consumer {
	if t := l.bus.server.state.tasks; t != nil {
		return t.consumers[l.run]
	}
	return nil
}

func (l lease) Ack(ctx context.Context) error {
	return l.bus.request(ctx, func() error {
		c := l.consumer()
		if c == nil {
			return errors.New("the queue does not exist any more")
		}
		if _, held := c.pending[l.sequence]; held {
			l.bus.server.state.tasks.remove(func(m *message) bool {
				return m.chunk.Run == l.run && m.sequence == l.sequence
			})
		}
		return nil
	})
}
