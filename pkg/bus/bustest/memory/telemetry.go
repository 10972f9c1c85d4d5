package memory

import (
	"slices"
	"sync"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// maxPending bounds the messages that wait for a subscriber; others are dropped.
const maxPending = 1 << 12

// subscription calls each with the messages of a connection, one at a time.
type subscription[T any] struct {
	bus     *Bus
	each    func(T)
	pending chan T
	ended   chan struct{}
	end     func()
}

// Telemetry is what processes tell each other of their state. Nothing of it is stored.
type Telemetry struct{ bus *Bus }

// Telemetry returns the heartbeats of workers and the announcements of runs.
func (b *Bus) Telemetry() Telemetry { return Telemetry{b} }

// Connected returns nil while the server can be reached.
func (t Telemetry) Connected() error { return t.bus.Connected() }

// PublishHeartbeat sends a heartbeat to all that subscribe, as sent now by the owner of a key. Heartbeats that
// are not valid reach nobody. The times of the heartbeats of a connection grow.
func (t Telemetry) PublishHeartbeat(h run.Heartbeat, signer run.Signer) error {
	h.Key, h.Worker, h.Held = signer.Key(), queens.Sanitize(h.Worker), slices.Clone(h.Held)
	s := t.bus.server
	s.mu.Lock()
	defer s.mu.Unlock()
	h.Sent = time.Now().UTC().Round(0)
	if !h.Sent.After(t.bus.lastHeartbeat) {
		h.Sent = t.bus.lastHeartbeat.Add(1)
	}
	t.bus.lastHeartbeat = h.Sent
	if t.bus.reach() == nil && h.Validate() == nil {
		distribute(s, s.heartbeats, h)
	}
	return nil
}

// PublishAnnouncement sends an announcement to all that subscribe. Announcements that are not valid reach nobody.
func (t Telemetry) PublishAnnouncement(b run.Announcement) error {
	b.Obsolete, b.Quarantined, b.Unadmitted = slices.Clone(b.Obsolete), slices.Clone(b.Quarantined), slices.Clone(b.Unadmitted)
	s := t.bus.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.bus.reach() == nil && b.Validate() == nil {
		distribute(s, s.announcements, b)
	}
	return nil
}

// distribute sends a message to the subscribers, and loses, repeats and delays some. s.mu is held.
func distribute[T any](s *Server, to []*subscription[T], message T) {
	for _, subscriber := range to {
		copies := 1
		if s.hit(s.faults.LostMessage) {
			copies = 0
		} else if s.hit(s.faults.Repeated) {
			copies = 2
		}
		for range copies {
			if late := s.delay(); late > 0 {
				time.AfterFunc(late, func() { subscriber.add(message) })
			} else {
				subscriber.add(message)
			}
		}
	}
}

func (s *subscription[T]) add(message T) {
	select {
	case s.pending <- message:
	default:
	}
}

// SubscribeHeartbeats calls each, one at a time, with the heartbeats of all workers until unsubscribe is
// called or the connection ends.
func (t Telemetry) SubscribeHeartbeats(each func(run.Heartbeat)) (unsubscribe func(), err error) {
	return subscribe(t.bus, &t.bus.server.heartbeats, each)
}

// SubscribeAnnouncements calls each, one at a time, with the announcements of all runs, as [Telemetry.SubscribeHeartbeats]
// does with heartbeats.
func (t Telemetry) SubscribeAnnouncements(each func(run.Announcement)) (unsubscribe func(), err error) {
	return subscribe(t.bus, &t.bus.server.announcements, each)
}

func subscribe[T any](b *Bus, list *[]*subscription[T], each func(T)) (unsubscribe func(), err error) {
	s := b.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.closed {
		return nil, errClosed
	}
	added := &subscription[T]{bus: b, each: each, pending: make(chan T, maxPending), ended: make(chan struct{})}
	added.end = sync.OnceFunc(func() {
		close(added.ended)
		s.mu.Lock()
		defer s.mu.Unlock()
		*list = slices.DeleteFunc(slices.Clone(*list), func(other *subscription[T]) bool { return other == added })
	})
	*list = append(slices.Clone(*list), added)
	b.ended = append(b.ended, added.end)
	go added.deliver()
	return added.end, nil
}

func (s *subscription[T]) deliver() {
	for {
		select {
		case message := <-s.pending:
			s.each(message)
		case <-s.ended:
			return
		}
	}
}
