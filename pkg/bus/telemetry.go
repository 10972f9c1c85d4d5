package bus

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Telemetry is what processes tell each other of their state, over core NATS. Nothing of
// it is stored, and a total never depends on it.
type Telemetry struct{ bus *Bus }

// Connected returns nil while the server can be reached.
func (t Telemetry) Connected() error { return t.bus.Connected() }

// flushTimeout bounds how long a heartbeat, an announcement or a subscription may delay the process.
const flushTimeout = 500 * time.Millisecond

// PublishHeartbeat signs a heartbeat and sends it to all that subscribe, as sent now. It waits up to half
// a second until the server has it: if the worker dies the next moment, the chunks that it held are
// known.
func (t Telemetry) PublishHeartbeat(h run.Heartbeat, signer run.Signer) error {
	h.Sent = t.bus.nextSent()
	data, err := encodeHeartbeat(&h, signer)
	if err != nil {
		return err
	}
	return t.publish(heartbeatSubject(h.Worker), data)
}

// nextSent returns the time of the next heartbeat: the current time, or 1 ns after that of the last heartbeat
// if the clock was set back. The times of one connection grow.
func (b *Bus) nextSent() time.Time {
	for {
		last := b.heartbeatAt.Load()
		next := max(time.Now().UnixNano(), last+1)
		if b.heartbeatAt.CompareAndSwap(last, next) {
			return time.Unix(0, next).UTC()
		}
	}
}

// SubscribeHeartbeats calls each, one at a time, with the heartbeats of all workers whose signatures are
// right, until unsubscribe is called; a last call may still run then. If there is a connection, no
// heartbeat that is sent after the return is missed, unless they come faster than they can be checked, see
// [Telemetry.OnDropped]; else the subscription begins with the next connection.
func (t Telemetry) SubscribeHeartbeats(each func(run.Heartbeat)) (unsubscribe func(), err error) {
	return subscribe(t.bus, heartbeatSubjects, decodeHeartbeat, each)
}

// OnDropped has each called, one call at a time, when heartbeats were dropped because they come faster than
// this process can check them. It replaces the last one.
func (t Telemetry) OnDropped(each func()) { t.bus.onDropped.Store(&each) }

// floodInterval is the least time between two log messages about dropped heartbeats.
const floodInterval = 5 * time.Minute

// noteDropped says that heartbeats were dropped.
func (b *Bus) noteDropped() {
	if each := b.onDropped.Load(); each != nil {
		(*each)()
	}
	if b.floodAlert.Allow("dropped") {
		b.log.Warn().Msg("heartbeats come faster than this process can check them: a client floods the server; end it with coordinator keys revoke and its name, or replace the join token")
	}
}

// PublishAnnouncement sends an announcement to all that subscribe. It waits up to half a second until the server has
// it.
func (t Telemetry) PublishAnnouncement(b run.Announcement) error {
	data, err := encodeAnnouncement(&b)
	if err != nil {
		return err
	}
	return t.publish(announcementSubject(b.Run), data)
}

// SubscribeAnnouncements calls each, one at a time, with the announcements of all runs, as
// [Telemetry.SubscribeHeartbeats] does with heartbeats.
func (t Telemetry) SubscribeAnnouncements(each func(run.Announcement)) (unsubscribe func(), err error) {
	return subscribe(t.bus, announcementSubjects, decodeAnnouncement, each)
}

// PublishSnapshot sends a snapshot to all that watch the run. It never waits: without
// watchers or without a connection the snapshot is dropped.
func (t Telemetry) PublishSnapshot(s *run.Snapshot) error {
	if !t.bus.conn.IsConnected() {
		return nil // newer snapshots follow when there is a connection again
	}
	data, err := encodeSnapshot(s)
	if err != nil {
		return err
	}
	return t.bus.conn.Publish(ProgressSubject(s.Run), data)
}

// SubscribeSnapshots calls each, one at a time, with the snapshots of a run, as
// [Telemetry.SubscribeHeartbeats] does with heartbeats. While the server is away there are none.
func (t Telemetry) SubscribeSnapshots(name string, each func(*run.Snapshot)) (unsubscribe func(), err error) {
	if err := queens.ValidateRun(name); err != nil {
		return nil, err
	}
	return subscribe(t.bus, ProgressSubject(name), decodeSnapshot, each)
}

func (t Telemetry) publish(subject string, data []byte) error {
	if err := t.bus.conn.Publish(subject, data); err != nil {
		return err
	}
	t.bus.flush(flushTimeout) // if this fails, it is sent a little later
	return nil
}

// Bounds of the heartbeats that wait to be checked; others are dropped.
const (
	maxPending      = 1 << 13
	maxPendingBytes = 16 << 20
)

// subscribe calls each, one at a time, with the messages on a subject.
func subscribe[T any](
	b *Bus, subject string, decode func(subject string, data []byte) (T, error), each func(T),
) (unsubscribe func(), err error) {
	subscription, err := b.conn.Subscribe(subject, func(m *nats.Msg) {
		if isAnswer(m) {
			b.rejected.add(m.Subject, m.Data, errors.New("it is the answer to a request"))
			return
		}
		value, err := decode(m.Subject, m.Data)
		if err != nil {
			b.rejected.add(m.Subject, m.Data, err)
			return
		}
		each(value)
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", subject, b.explainClosed(err))
	}
	if subject == heartbeatSubjects { // so that a flood is checked within seconds of its end
		_ = subscription.SetPendingLimits(maxPending, maxPendingBytes) // fails if the connection has ended
	}
	b.flush(flushTimeout)                                 // if this fails, the server hears of it a little later
	return func() { _ = subscription.Unsubscribe() }, nil // fails if the connection ended first
}

// isAnswer reports whether the server has sent a message in answer to a request, whose sender has chosen
// the reply subject.
func isAnswer(m *nats.Msg) bool {
	for key := range m.Header {
		if key != "Nats-Request-Info" { // the server adds it between accounts
			return true
		}
	}
	return m.Reply != ""
}
