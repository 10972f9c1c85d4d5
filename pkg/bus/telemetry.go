package bus

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Telemetry is what processes tell each other of their state, over core NATS. Nothing of
// it is stored, and a total never depends on it.
type Telemetry struct{ bus *Bus }

// flushTimeout bounds how long a heartbeat may delay the worker that sends it.
const flushTimeout = 500 * time.Millisecond

// PublishHeartbeat sends a heartbeat to all that watch. It waits up to half a second
// until the server has it: if the worker dies the next moment, the tasks that it held are
// known.
func (t Telemetry) PublishHeartbeat(h run.Heartbeat) error {
	data, err := encodeHeartbeat(&h)
	if err != nil {
		return err
	}
	if err := t.bus.conn.Publish(heartbeatSubject(h.Worker), data); err != nil {
		return err
	}
	if t.bus.conn.IsConnected() {
		_ = t.bus.conn.FlushTimeout(flushTimeout) // if this fails, it is sent a little later
	}
	return nil
}

// WatchHeartbeats calls each, one at a time, with the heartbeats of all workers until ctx
// ends; then it returns nil.
func (t Telemetry) WatchHeartbeats(ctx context.Context, each func(run.Heartbeat)) error {
	return watch(ctx, t.bus, heartbeatSubjects, decodeHeartbeat, each)
}

// PublishProgress sends a snapshot to all that watch the run. It never waits: without
// watchers or without a connection the snapshot is dropped.
func (t Telemetry) PublishProgress(p run.Progress) error {
	if !t.bus.conn.IsConnected() {
		return nil // newer snapshots follow when there is a connection again
	}
	data, err := encodeProgress(&p)
	if err != nil {
		return err
	}
	return t.bus.conn.Publish(progressSubject(p.Run), data)
}

// WatchProgress calls each, one at a time, with the snapshots of a run until ctx ends;
// then it returns nil. While the server is away there are none.
func (t Telemetry) WatchProgress(ctx context.Context, name string, each func(run.Progress)) error {
	if err := queens.ValidateRun(name); err != nil {
		return err
	}
	return watch(ctx, t.bus, progressSubject(name), decodeProgress, each)
}

// watch calls each, one at a time, with the messages on a subject until ctx ends.
func watch[T any](
	ctx context.Context, b *Bus, subject string,
	decode func(subject string, data []byte) (T, error), each func(T),
) error {
	subscription, err := b.conn.Subscribe(subject, func(m *nats.Msg) {
		value, err := decode(m.Subject, m.Data)
		if err != nil {
			b.rejected.add(m.Subject, m.Data, err)
			return
		}
		each(value)
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	_ = subscription.Unsubscribe() // fails if the connection ended first
	return nil
}
