package bus

import (
	"context"
	"time"

	"nqueens/pkg/run"

	"github.com/nats-io/nats.go"
)

// flushWait bounds how long a heartbeat may hold up the worker that sends it.
const flushWait = 500 * time.Millisecond

// PublishHeartbeat tells whoever listens that a worker lives. It waits, for half a
// second at most, until the server has it: so it is known what a worker held that
// dies the next moment.
func (b *Bus) PublishHeartbeat(h run.Heartbeat) error {
	data, err := encodeHeartbeat(&h)
	if err != nil {
		return err
	}
	if err := b.conn.Publish(heartbeatSubject(h.Worker), data); err != nil {
		return err
	}
	if b.conn.IsConnected() {
		_ = b.conn.FlushTimeout(flushWait) // else it leaves a little later
	}
	return nil
}

// Heartbeats calls each, one at a time, with the heartbeats of all workers until
// ctx ends; then it returns nil.
func (b *Bus) Heartbeats(ctx context.Context, each func(run.Heartbeat)) error {
	subscription, err := b.conn.Subscribe(heartbeatSubjects, func(m *nats.Msg) {
		h, err := decodeHeartbeat(m.Data)
		if err != nil {
			b.rejected.add(m.Subject, m.Data, err)
			return
		}
		each(h)
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	_ = subscription.Unsubscribe() // fails when the connection ended first: as well
	return nil
}
