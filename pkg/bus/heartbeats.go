package bus

import (
	"context"

	"github.com/nats-io/nats.go"

	"nqueens/pkg/queens"
)

// PublishHeartbeat tells whoever listens that a worker lives. It waits for nothing.
func (b *Bus) PublishHeartbeat(h queens.Heartbeat) error {
	data, err := encodeHeartbeat(&h)
	if err != nil {
		return err
	}
	return b.conn.Publish(heartbeatSubject(h.Worker), data)
}

// Heartbeats calls each, one at a time, with the heartbeats of all workers until
// ctx ends; then it returns nil.
func (b *Bus) Heartbeats(ctx context.Context, each func(queens.Heartbeat)) error {
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
