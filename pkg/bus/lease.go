package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// lease implements [run.Lease] with the acknowledgements of a message; see NATS ADR-15. It
// outlives the subscription of the message.
type lease struct {
	bus       *Bus
	message   *nats.Msg
	delivered uint64 // how often, with this time
}

func (l lease) Redelivered() int { return int(l.delivered) - 1 }

func (l lease) Extend() error  { return l.send("+WPI") }
func (l lease) Release() error { return l.send("-NAK") }

func (l lease) Postpone(delay time.Duration) error {
	return l.send(fmt.Sprintf(`-NAK {"delay": %d}`, delay.Nanoseconds()))
}

// Ack sends the acknowledgement again over the next connection if the connection is lost.
func (l lease) Ack(ctx context.Context) error {
	err := l.ack(ctx)
	if errors.Is(err, errDisconnected) {
		err = l.ack(ctx)
	}
	return err
}

func (l lease) ack(ctx context.Context) error {
	ctx, done := l.bus.request(ctx)
	_, err := l.bus.conn.RequestWithContext(ctx, l.message.Reply, []byte("+ACK"))
	if errors.Is(err, nats.ErrNoResponders) {
		err = fmt.Errorf("the queue behind %s does not exist any more", l.message.Subject)
	}
	return done(err)
}

// reject removes the message from the queue for good, uncounted.
func (l lease) reject() error { return l.send("+TERM unreadable") }

// send does not wait: if the acknowledgement is lost, the lease lapses.
func (l lease) send(acknowledgement string) error {
	return l.bus.conn.Publish(l.message.Reply, []byte(acknowledgement))
}
