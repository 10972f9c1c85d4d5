// Package bus carries chunks of tasks, results, records of runs, heartbeats of workers and
// announcements of runs between processes over NATS JetStream. It is the only package that knows NATS, its subjects and streams,
// and the form of messages on the wire; what goes in and out are the plain types of
// packages queens and run.
//
// A [Bus] is one connection. Its parts are [Tasks], [Queue], [Results], [Registry] and
// [Telemetry].
//
// JetStream is treated as a transport that may lose, repeat and reorder messages. The
// coordinator's ledger keeps the accounts; nothing here adds up to a total.
package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/queens"
	"nqueens/pkg/ratelimit"
	"nqueens/pkg/run"
)

// Bus is a connection to the server. Its methods and those of its parts are safe for
// concurrent use, except those of [Queue] and [Claim].
type Bus struct {
	cfg            Config
	conn           *nats.Conn
	js             jetstream.JetStream
	connID         string // begins the ids of this connection's messages, see resultMessageID
	timeout        adaptiveTimeout
	consumerUsedAt atomic.Int64 // in Unix nanoseconds: when workers last held chunks, or the run began
	heartbeatAt    atomic.Int64 // the same: of the last heartbeat sent
	lifetime       atomic.Pointer[lifetime]
	log            zerolog.Logger
	limiter        ratelimit.Limiter // of log messages
	rejected       *rejected
	closed         chan struct{} // closed when the connection has ended for good
	// permitted ends, with the reason, when the server has refused something for good. Only the first reason counts.
	permitted context.Context
	refuse    context.CancelCauseFunc
	tasks     atomic.Pointer[jetstream.Stream]
	outages   outages
	heals     ratelimit.Limiter // of attempts to make the stream of tasks again
	// onDropped is called when heartbeats were dropped, see [Telemetry.OnDropped].
	onDropped  atomic.Pointer[func()]
	floodAlert ratelimit.Limiter // of the log message about that
}

// Tasks returns the coordinator's side of the task queue.
func (b *Bus) Tasks() Tasks { return Tasks{b} }

// Queue returns a worker's side of the task queue, for one goroutine.
func (b *Bus) Queue() *Queue { return newQueue(b) }

// Results returns the stream of results.
func (b *Bus) Results() Results { return Results{b} }

// Registry returns the records of runs.
func (b *Bus) Registry() Registry { return Registry{b} }

// Telemetry returns the heartbeats of workers, and the announcements and the progress of runs.
func (b *Bus) Telemetry() Telemetry { return Telemetry{b} }

// Close sends what is still buffered and ends the connection.
func (b *Bus) Close() {
	b.flush(time.Second)
	b.conn.Close()
}

// flush waits, for a short time, until the server has all that was sent. It is best effort.
func (b *Bus) flush(timeout time.Duration) {
	if b.conn.IsConnected() {
		_ = b.conn.FlushTimeout(timeout)
	}
}

// Connected returns nil while the server can be reached.
func (b *Bus) Connected() error {
	if b.conn.IsConnected() {
		return nil
	}
	return fmt.Errorf("no connection to %s", b.cfg.displayURL())
}

// IsOpen reports whether the server asks for no key, password or token: then anybody who reaches it can change
// what it says of its runs. A server that only verifies the certificates of clients counts as open: clients do
// not learn that it does. Before the first connection it returns true.
func (b *Bus) IsOpen() bool { return !b.conn.AuthRequired() }

// WaitClosed waits until ctx ends, and then returns nil, or until the connection is of no use
// any more: the server refuses the credentials, or does not permit what this process needs.
// Then the error says so and wraps [run.ErrNoConnection].
func (b *Bus) WaitClosed(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-b.permitted.Done():
	case <-b.closed:
	}
	if refused := context.Cause(b.permitted); refused != nil {
		return refused
	}
	if err := b.conn.LastError(); err != nil {
		return fmt.Errorf("%w: %w%s", run.ErrNoConnection, err, b.cfg.hint(err))
	}
	return fmt.Errorf("%w: it was closed", run.ErrNoConnection)
}

// explainClosed returns why the connection was closed if err says only that it was, and else err.
func (b *Bus) explainClosed(err error) error {
	if !errors.Is(err, nats.ErrConnectionClosed) {
		return err
	}
	ctx, done := context.WithTimeout(context.Background(), flushTimeout)
	defer done()
	return cmp.Or(b.WaitClosed(ctx), err)
}

// Server returns the address of the connected server, or those of the configuration
// while there is no connection, without their passwords.
func (b *Bus) Server() string {
	if b.conn.IsConnected() {
		return queens.Sanitize(redact(b.conn.ConnectedUrl()))
	}
	return b.cfg.displayURL()
}

// Reconnects returns how often the connection was lost and made again.
func (b *Bus) Reconnects() uint64 { return b.conn.Stats().Reconnects }

// Rejected returns the number of messages that could not be read.
func (b *Bus) Rejected() uint64 { return b.rejected.count.Load() }

// isEmbedded reports whether the server is in this process.
func (b *Bus) isEmbedded() bool { return b.cfg.InProcess != nil }

// publish stores a message in a stream and returns its sequence number there.
func (b *Bus) publish(ctx context.Context, stream, subject string, data []byte, options ...jetstream.PublishOpt) (uint64, error) {
	ctx, done := b.request(ctx)
	ack, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: data}, append(options, jetstream.WithExpectStream(stream))...)
	if err = done(err); err != nil {
		return 0, fmt.Errorf("publish to %s: %w", subject, err)
	}
	return ack.Sequence, nil
}

// purge removes the messages of a subject from a stream. A missing stream is no error.
func (b *Bus) purge(ctx context.Context, stream, subject string, options ...jetstream.StreamPurgeOpt) error {
	ctx, done := b.request(ctx)
	s, err := b.js.Stream(ctx, stream)
	if err == nil {
		err = s.Purge(ctx, append(options, jetstream.WithPurgeSubject(subject))...)
	}
	if err = done(err); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("purge %s from stream %s: %w", subject, stream, err)
	}
	return nil
}
