package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"nqueens/pkg/run"
)

// A worker asks the consumers of runs for chunks with requests of its own, without the pull
// consumers of the client library: decision 19 says why. This file has such requests and their
// answers; queue.go offers them to workers.

// errClosed says that chunks can't be requested any more.
var errClosed = errors.New("the queue is closed")

// pullRequest is a request for messages of a consumer; see NATS ADR-37.
type pullRequest struct {
	Batch   int           `json:"batch"`
	NoWait  bool          `json:"no_wait,omitempty"`
	Expires time.Duration `json:"expires,omitempty"`
}

// pull sends a request to a consumer. The answers have the inbox as reply subject.
func (b *Bus) pull(consumer, inbox string, request pullRequest) error {
	data, err := json.Marshal(request)
	if err != nil {
		return err
	}
	return b.conn.PublishRequest(pullSubject(consumer), inbox, data)
}

// isStatus reports whether a message ends a pull request. It says that nothing waits (404),
// the request has expired (408), the consumer has ended (409) or does not exist (503), or
// that the server refuses the request.
func isStatus(m *nats.Msg) bool { return m.Reply == "" }

// logRefusal logs a status that says that the server refuses requests such as this.
func (b *Bus) logRefusal(m *nats.Msg) {
	status, description := m.Header.Get("Status"), m.Header.Get("Description")
	refused := status == "409" && (strings.HasPrefix(description, "Exceeded") || strings.Contains(description, "push"))
	if (refused || status == "400") && b.limiter.Allow(description) {
		b.log.Warn().Str("status", status).Str("reason", description).
			Msg("the server refuses a request for tasks: does the run's consumer have limits?")
	}
}

// readChunk returns the chunk of a message. It rejects and counts one that it cannot read.
func (b *Bus) readChunk(m *nats.Msg) (run.Loan, bool) {
	metadata, err := m.Metadata()
	if err != nil { // not from a consumer
		b.rejected.add(m.Subject, m.Data, fmt.Errorf("no chunk: %w", err))
		return run.Loan{}, false
	}
	l := lease{bus: b, message: m, delivered: metadata.NumDelivered}
	chunk, err := decodeChunk(m.Subject, m.Data)
	if err == nil {
		return run.Loan{Chunk: chunk, Lease: l, Queued: int(metadata.NumPending)}, true
	}
	b.rejected.add(m.Subject, m.Data, err)
	if errors.As(err, new(versionError)) {
		_ = l.Postpone(otherVersionDelay) // if this fails, the lease lapses
	} else {
		_ = l.reject() // if this fails, it is delivered and rejected again
	}
	return run.Loan{}, false
}

// inbox is a subscription that lasts, for the answers to many requests. Its zero value has
// none yet.
type inbox struct {
	prefix       string
	subscription *nats.Subscription
	ended        chan struct{} // closed after the last message was handled
	requests     uint64
}

// open subscribes unless that is done.
func (i *inbox) open(conn *nats.Conn, handle nats.MsgHandler) error {
	if i.subscription != nil {
		return nil
	}
	prefix, ended := conn.NewInbox()+".", make(chan struct{})
	subscription, err := conn.Subscribe(prefix+"*", handle)
	if err != nil {
		return err
	}
	subscription.SetClosedHandler(func(string) { close(ended) })
	_ = subscription.SetPendingLimits(-1, -1) // the requests bound it; fails if the connection has ended
	i.prefix, i.subscription, i.ended = prefix, subscription, ended
	return nil
}

// next returns the reply subject of another request. A status message has it as its subject;
// a chunk has its own.
func (i *inbox) next() string {
	i.requests++
	return fmt.Sprint(i.prefix, i.requests)
}

// drain ends the subscription once what the server has sent is handled, or when ctx ends.
func (i *inbox) drain(ctx context.Context) {
	if i.subscription == nil || i.subscription.Drain() != nil {
		return
	}
	select {
	case <-i.ended:
	case <-ctx.Done():
	}
}

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
