// Package bus carries tasks, results and heartbeats over NATS. It is the only
// package that knows NATS, its subjects and streams, and the form of messages on
// the wire; what goes in and out are the plain types of package queens.
//
// JetStream is treated as a transport that may lose, repeat and reorder: the
// accounts at the coordinator are the truth, and nothing here adds up to a total.
package bus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/queens"
	"nqueens/pkg/ratelimit"
)

// Config says which server to connect to, and how.
type Config struct {
	// URL is one or more server addresses, separated by commas. A user and
	// password may stand in it.
	URL string
	// InProcess, if not nil, is a server in this process; URL is not used then.
	InProcess nats.InProcessConnProvider
	// Name is shown by the server for this connection.
	Name string
	// Wait says to go on trying when no server can be reached at first.
	Wait bool
	// Lease is how long a worker may hold a task without a word.
	Lease time.Duration
	Log   zerolog.Logger
}

// DefaultLease is long enough to live through a short stall of the network, and
// short enough that a dead worker's tasks soon go to another.
const DefaultLease = 10 * time.Second

// Bus is a connection to the server. Its methods are safe for concurrent use.
type Bus struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	lease    time.Duration
	salt     string // begins the ids of this connection's messages, see taskMessageID
	log      zerolog.Logger
	where    string // the servers of the configuration, for people
	rejected *rejections
	closed   chan struct{} // closed when the connection has ended for good
	waited   atomic.Bool   // for a server that was not there at first

	limiter ratelimit.Limiter // of log messages

	mu    sync.Mutex
	tasks jetstream.Stream // see tasksStream
}

// Connect connects to the server of the configuration. Once connected, it
// reconnects for as long as it takes. An error wraps [queens.ErrNoConnection].
func Connect(cfg Config) (*Bus, error) {
	b := &Bus{lease: cfg.Lease, salt: randomText(), where: cfg.where(), log: cfg.Log, rejected: newRejections(cfg.Log), closed: make(chan struct{})}
	options := []nats.Option{
		nats.Name(cfg.Name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(500 * time.Millisecond),
		nats.ReconnectJitter(500*time.Millisecond, 500*time.Millisecond),
		nats.RetryOnFailedConnect(cfg.Wait),
		nats.ConnectHandler(func(c *nats.Conn) {
			event := b.log.Debug()
			if b.waited.Load() {
				event = b.log.Info()
			}
			event.Str("server", redact(c.ConnectedUrl())).Msg("connected")
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				b.log.Warn().Err(err).Msg("connection lost, reconnecting")
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) {
			b.log.Info().Str("server", redact(c.ConnectedUrl())).Msg("connected again")
		}),
		nats.ErrorHandler(b.asyncError),
		nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }),
	}
	if cfg.InProcess != nil {
		options = append(options, nats.InProcessServer(cfg.InProcess))
	}
	conn, err := nats.Connect(cfg.URL, options...)
	if errors.As(err, new(*url.Error)) {
		// Its text quotes the address, and so a password in it.
		return nil, fmt.Errorf("%w: %s is not the address of a server, such as nats://127.0.0.1:4222", queens.ErrNoConnection, cfg.where())
	}
	if err != nil {
		advice := "is a server running there, and is the address right?"
		if errors.Is(err, nats.ErrAuthorization) {
			advice = "are the user and password in the address right?"
		}
		return nil, fmt.Errorf("%w: %s: %w: %s", queens.ErrNoConnection, cfg.where(), err, advice)
	}
	if !conn.IsConnected() && !errors.Is(conn.LastError(), nats.ErrAuthorization) {
		b.waited.Store(true)
		b.log.Warn().Str("server", cfg.where()).Msg("no server there yet, waiting for it")
	}
	b.conn = conn
	if b.js, err = jetstream.New(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return b, nil
}

// randomText returns 8 letters and digits that no other call is likely to return.
func randomText() string { return rand.Text()[:8] }

// where names the server without its password.
func (c *Config) where() string {
	if c.InProcess != nil {
		return "the embedded server"
	}
	return redact(c.URL)
}

// redact takes users, passwords and tokens out of a list of addresses, even of such
// as are no URLs.
func redact(addresses string) string {
	list := strings.Split(addresses, ",")
	for i, address := range list {
		end := strings.LastIndex(address, "@")
		if end < 0 {
			continue
		}
		begin := 0
		if scheme := strings.Index(address[:end], "://"); scheme >= 0 {
			begin = scheme + len("://")
		}
		list[i] = address[:begin] + "***" + address[end:]
	}
	return strings.Join(list, ",")
}

// Close sends what is still buffered and ends the connection.
func (b *Bus) Close() {
	if b.conn.IsConnected() {
		_ = b.conn.FlushTimeout(time.Second) // best effort: leases lapse by themselves
	}
	b.conn.Close()
}

// WaitClosed waits until ctx ends, and then returns nil, or until the connection has
// ended for good, because the server refuses the credentials: then the error says
// so and wraps [queens.ErrNoConnection].
func (b *Bus) WaitClosed(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-b.closed:
		if err := b.conn.LastError(); err != nil {
			return fmt.Errorf("%w: %w", queens.ErrNoConnection, err)
		}
		return fmt.Errorf("%w: it was closed", queens.ErrNoConnection)
	}
}

// Rejected returns the number of messages refused because they could not be read.
func (b *Bus) Rejected() uint64 {
	return b.rejected.count.Load()
}

// asyncError logs what the connection reports outside any call: a permission
// denied, a slow subscriber. The same is logged once in a while.
func (b *Bus) asyncError(_ *nats.Conn, _ *nats.Subscription, err error) {
	if b.limiter.Allow(err.Error()) {
		b.log.Warn().Err(err).Msg("the server or the connection reports an error")
	}
}

// requestTimeout bounds each exchange with the server, so that one that never
// answers (a permission denied is silent) is noticed.
const requestTimeout = 5 * time.Second

// publish stores a message in a stream and returns its sequence there.
func (b *Bus) publish(ctx context.Context, stream, subject, id string, data []byte) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ack, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: data},
		jetstream.WithMsgID(id), jetstream.WithExpectStream(stream))
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v: %w", requestTimeout, err)
	}
	if err != nil {
		return 0, fmt.Errorf("publish to %s: %w", subject, err)
	}
	return ack.Sequence, nil
}

// Connected returns nil while the server can be reached.
func (b *Bus) Connected() error {
	if b.conn.IsConnected() {
		return nil
	}
	return fmt.Errorf("no connection to %s", b.where)
}

// Server returns the address of the server connected to, or else of those that
// connections are tried to, without their passwords.
func (b *Bus) Server() string {
	if b.conn.IsConnected() {
		return redact(b.conn.ConnectedUrl())
	}
	return b.where
}
