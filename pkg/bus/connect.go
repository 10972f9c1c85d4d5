package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/ratelimit"
	"nqueens/pkg/run"
)

// Config says which server to connect to, and how.
type Config struct {
	// URL is one or more server addresses, separated by commas. They may contain a
	// user and a password.
	URL string
	// InProcess, if not nil, is a server in this process; URL is ignored then.
	InProcess nats.InProcessConnProvider
	Credentials
	// Name is shown by the server for this connection.
	Name string
	// Wait keeps trying if no server can be reached at first.
	Wait bool
	// Replicas is how many servers of a cluster keep each stream at least; 0 is one for streams
	// that this connection creates. Streams that have more keep them.
	Replicas int
	// Lease is how long a worker may hold a chunk without extending its lease.
	Lease time.Duration
	Log   zerolog.Logger
}

// DefaultLease outlasts a short stall of the network, and is short enough that the
// chunks of a dead worker soon go to another.
const DefaultLease = 10 * time.Second

// A connection counts as lost when the server has not answered maxPings pings. Only so does a client
// notice that the machine of its server is lost, which closes no connection. A client of a cluster, to
// whom another server is open, notices it within 9 s. With a single server it is more patient: that may
// be overloaded, and a thousand clients that connect again would not help it.
const (
	pingInterval        = 20 * time.Second
	clusterPingInterval = 3 * time.Second
	maxPings            = 2
)

// pingInterval returns the time between pings.
func (c *Config) pingInterval() time.Duration {
	if c.InProcess == nil && strings.Contains(c.URL, ",") {
		return clusterPingInterval
	}
	return pingInterval
}

// Connect connects to the configured server. Once connected, it reconnects for as long
// as it takes. An error wraps [run.ErrNoConnection].
func Connect(cfg Config) (*Bus, error) {
	b := &Bus{
		cfg: cfg, connID: randomText(), log: cfg.Log, rejected: newRejected(cfg.Log), closed: make(chan struct{}),
		floodAlert: ratelimit.Limiter{Interval: floodInterval},
	}
	b.permitted, b.refuse = context.WithCancelCause(context.Background())
	var waiting, warned atomic.Bool // for a server that could not be reached at first
	options := []nats.Option{
		nats.Name(cfg.Name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(500 * time.Millisecond),
		nats.ReconnectJitter(500*time.Millisecond, 500*time.Millisecond),
		nats.RetryOnFailedConnect(cfg.Wait),
		nats.PingInterval(cfg.pingInterval()),
		nats.MaxPingsOutstanding(maxPings),
		nats.ConnectHandler(func(c *nats.Conn) {
			event := b.log.Debug()
			if waiting.Swap(false) && warned.Load() {
				event = b.log.Info()
			}
			event.Str("server", redact(c.ConnectedUrl())).Msg("connected")
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			b.beginLifetime()
			if err != nil {
				b.log.Warn().Err(err).Msg("connection lost, reconnecting")
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) {
			b.log.Info().Str("server", redact(c.ConnectedUrl())).Msg("reconnected")
		}),
		// Errors outside any call, such as a denied permission or a slow subscriber.
		nats.ErrorHandler(func(_ *nats.Conn, subscription *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrSlowConsumer) && subscription != nil && subscription.Subject == heartbeatSubjects {
				b.noteDropped()
				return
			}
			if denied := cfg.denied(err); denied != nil {
				b.refuse(denied)
				return
			}
			if b.limiter.Allow(err.Error()) {
				b.log.Warn().Err(err).Msg("NATS reports an error")
			}
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }),
	}
	if cfg.InProcess != nil {
		options = append(options, nats.InProcessServer(cfg.InProcess))
	}
	waiting.Store(cfg.Wait)
	conn, err := nats.Connect(cfg.URL, append(options, cfg.options()...)...)
	if errors.As(err, new(*url.Error)) {
		// The text of err quotes the address, and so a password in it.
		return nil, fmt.Errorf("%w: %s is not the address of a server, such as nats://127.0.0.1:4222",
			run.ErrNoConnection, cfg.displayURL())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w%s", run.ErrNoConnection, cfg.displayURL(), err, cfg.hint(err))
	}
	if !conn.IsConnected() && !isRefusal(conn.LastError()) {
		warned.Store(true)
		reason := cmp.Or(conn.LastError(), nats.ErrNoServers)
		b.log.Warn().Err(reason).Str("server", cfg.displayURL()).Str("hint", strings.TrimPrefix(cfg.hint(reason), ": ")).
			Msg("server not reachable yet, waiting for it")
	}
	b.conn = conn
	b.beginLifetime()
	if waiting.Load() {
		go b.closeOnceRefused(&waiting)
	}
	if b.js, err = jetstream.New(conn, jetstream.WithDefaultTimeout(requestTimeout)); err != nil {
		conn.Close()
		return nil, err
	}
	return b, nil
}

// maxClosedAfterHandshake is how often in a row [Bus.closeOnceRefused] sees that a connection has ended after the TLS
// handshake before that counts as a refusal: a server that stops ends one so.
const maxClosedAfterHandshake = 5

// closeOnceRefused closes a connection that is not made yet if the server, or what stands in its place, refuses
// connections for good. It looks at the last error until the first connection is made: the client calls no handler
// if an attempt but the first reaches a server and is refused.
func (b *Bus) closeOnceRefused(waiting *atomic.Bool) {
	for closed := 0; waiting.Load(); {
		err := b.conn.LastError()
		if isClosedAfterHandshake(err) {
			closed++
		} else {
			closed = 0
		}
		if isRefusal(err) || closed == maxClosedAfterHandshake {
			b.refuse(fmt.Errorf("%w: %s: %w%s", run.ErrNoConnection, b.cfg.displayURL(), err, b.cfg.hint(err)))
			b.conn.Close()
		}
		select {
		case <-b.closed:
			return
		case <-time.After(retryInterval):
		}
	}
}

// randomText returns 8 random letters and digits.
func randomText() string { return rand.Text()[:8] }

// displayURL returns the addresses without passwords.
func (c *Config) displayURL() string {
	if c.InProcess != nil {
		return "the embedded server"
	}
	return redact(c.URL)
}

// userinfo matches what stands before the @ of each address, and captures its scheme.
var userinfo = regexp.MustCompile(`([^,]*?://)?[^,]*@`)

// redact hides users, passwords and tokens in a list of addresses, even if they are not
// valid URLs.
func redact(addresses string) string {
	return userinfo.ReplaceAllString(addresses, "${1}***@")
}
