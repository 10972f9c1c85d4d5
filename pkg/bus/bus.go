package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// Options say which server to connect to, and how.
type Options struct {
	// URL is one or more server addresses, separated by commas. They may contain a user and a
	// password.
	URL string
	// InProcess, if not nil, is a server in this process; URL, TLS and TLSCA are ignored then.
	InProcess nats.InProcessConnProvider
	// User is the NATS user; empty means [queens.WorkerUser]. The subjects of its messages have
	// this name, and it gets its replies on _INBOX.<User>. If Password is not empty, the client
	// logs in with both.
	User, Password string
	// Creds and NKey are paths of credential files made by NATS's own tools, or empty.
	Creds, NKey string
	// TLS says how the client verifies the server. If it is nil, the client uses TLS if TLSCA is set,
	// an address begins with tls://, or the server requires TLS. The server's certificate must then be
	// signed by the authority in the file TLSCA or, if TLSCA is empty, by one that the system trusts.
	TLS   *tls.Config
	TLSCA string
	// Name is the name of the connection in the server's reports.
	Name string
	// Process is the worker of the connection, if it has one. Coordinators of another version get a
	// message in its name, so that their logs say why the worker does not take part.
	Process queens.Process
	// If Wait is set, the connection keeps trying when no server can be reached at first.
	Wait bool
	Log  zerolog.Logger
}

// Bus is a connection to the server. It is safe for concurrent use.
type Bus struct {
	options    Options
	conn       *nats.Conn
	dialer     *dialer
	isUp       atomic.Bool             // there is a connection; conn can't say so during a login
	maxPayload atomic.Int64            // of the server, in bytes; 0 before the first connection
	found      atomic.Bool             // a server has accepted the connection
	first      chan struct{}           // closed then
	usable     context.Context         // ends when the connection is of no use any more
	refuse     context.CancelCauseFunc // ends it, with the reason
	mu         sync.Mutex
	said       map[string]bool // what was logged once
	problem    string          // why there is no connection; empty while there is one
	connection uint64          // see number
	reconnects uint64          // when connection was drawn
}

// A connection counts as lost when the server has not answered a ping until the next one is due. A
// server with little of a core answers late, and the pings of many clients take much of its time.
const (
	pingInterval = 30 * time.Second
	maxPings     = 1
)

// pingInterval returns the time between two pings. A server of the same process gets none.
func (o *Options) pingInterval() time.Duration {
	if o.InProcess != nil {
		return 0
	}
	return pingInterval
}

// minPayload is the least max_payload that a server may have, in bytes. A delivery has up to 65
// KiB, and the chunks of a reply take up to half of max_payload.
const minPayload = 128 << 10

// Connect connects to the server. A lost connection is made again, however long that takes; sending
// meanwhile fails at once. If ctx ends first, Connect waits no longer for the server. The error
// wraps [queens.ErrNoConnection], or is context.Cause(ctx).
func Connect(ctx context.Context, o Options) (*Bus, error) {
	b := &Bus{options: o, said: make(map[string]bool), first: make(chan struct{}),
		dialer: &dialer{Dialer: net.Dialer{Timeout: dialTimeout}}}
	b.usable, b.refuse = context.WithCancelCause(context.Background())
	options, err := o.credentials()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", queens.ErrNoConnection, err)
	}
	options = append(options,
		nats.Name(o.Name),
		nats.MaxReconnects(-1),
		nats.Timeout(loginTimeout),
		nats.SetCustomDialer(b.dialer),
		nats.CustomReconnectDelay(b.dialer.delay),
		nats.ReconnectBufSize(-1),
		nats.RetryOnFailedConnect(o.Wait),
		nats.PingInterval(o.pingInterval()),
		nats.MaxPingsOutstanding(maxPings),
		nats.ConnectHandler(b.connected),
		nats.ReconnectHandler(b.connected),
		nats.DisconnectErrHandler(func(c *nats.Conn, err error) {
			b.isUp.Store(false)
			if !c.IsClosed() {
				if err == nil || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
					err = errEnded
				}
				b.failed(err, "connection lost, reconnecting")
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { b.failed(err, "waiting for a server") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) { // it needs all its permissions all the time
				b.refuse(fmt.Errorf(
					"%w: the server does not permit it: %w: use the token or the credentials for this part",
					queens.ErrNoConnection, err))
				return
			}
			b.warnOnce(err.Error(), err, "the connection reports an error")
		}),
		nats.ClosedHandler(func(c *nats.Conn) {
			b.refuse(o.explain(cmp.Or(c.LastError(), nats.ErrConnectionClosed)))
		}),
	)
	defer context.AfterFunc(ctx, b.dialer.close)()
	defer time.AfterFunc(slowLogin, b.saySlow).Stop()
	b.conn, err = nats.Connect(o.URL, options...)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, o.explain(err)
	}
	if b.conn.IsConnected() {
		b.up(b.conn)
	} else {
		if err := b.conn.LastError(); isRefusal(err) {
			b.conn.Close()
			return nil, o.explain(err)
		}
	}
	return b, nil
}

// saySlow logs that the first connection takes long.
func (b *Bus) saySlow() {
	b.options.Log.Warn().Msg(fmt.Sprintf("server %s has not answered for %d s, and has %d s: it may "+
		"be overloaded, or no NATS server", b.options.servers(), slowLogin/time.Second,
		loginTimeout/time.Second))
}

// errEnded says that the server has ended a connection, as when it stops.
var errEnded = errors.New("the server has ended it")

// failed notes why there is no connection, and logs the reason if it is another than before. If the
// bus itself has ended the connection, it does nothing.
func (b *Bus) failed(err error, message string) {
	if b.dialer.isClosed() {
		return
	}
	why, help := cause(err)
	b.mu.Lock()
	same := b.problem == why
	b.problem = why
	b.mu.Unlock()
	if same {
		return
	}
	text := message + ": " + b.options.servers() + ": " + why
	if help != "" {
		text += "; what helps: " + help
	}
	b.options.Log.Warn().Str("server", b.options.servers()).Str("why", why).Str("help", help).
		Str(humanize.LogField, text).Msg(message)
}

// Problem returns why there is no connection, or "" while there is one.
func (b *Bus) Problem() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.problem
}

// up notes that there is a connection.
func (b *Bus) up(c *nats.Conn) {
	b.maxPayload.Store(c.MaxPayload())
	b.isUp.Store(true)
}

// connected logs a new connection, and makes [Bus.Wait] return an error if the server's max_payload
// is too small.
func (b *Bus) connected(c *nats.Conn) {
	b.up(c)
	level, text := zerolog.DebugLevel, "connected"
	b.mu.Lock()
	if b.problem != "" {
		level = zerolog.InfoLevel
	}
	b.problem = ""
	b.mu.Unlock()
	if b.found.Swap(true) {
		level, text = zerolog.InfoLevel, "reconnected"
	} else {
		close(b.first)
	}
	b.options.Log.WithLevel(level).Str("server", Redact(c.ConnectedUrl())).Msg(text)
	if most := c.MaxPayload(); most < minPayload {
		b.refuse(fmt.Errorf(
			"%w: the server %s takes messages of up to %d bytes: set its max_payload to %d or more, "+
				"its default is 1 MiB", queens.ErrNoConnection, Redact(c.ConnectedUrl()), most, minPayload))
	}
}

// errNoConnection says that a message can't be sent now.
var errNoConnection = errors.New("there is no connection")

// number returns a random number that is another one after each reconnection: see
// [queens.WorkRequest]. It does not wait for the handlers of connections, which run later.
func (b *Bus) number() uint64 {
	reconnects := b.conn.Stats().Reconnects
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.connection == 0 || b.reconnects != reconnects {
		b.connection, b.reconnects = randomNumber(), reconnects
	}
	return b.connection
}

// randomNumber returns a random number other than 0. It comes from the system, so that a clone of
// this process has another.
func randomNumber() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return max(1, binary.LittleEndian.Uint64(b[:]))
}

// credentials returns the NATS options by which client and server authenticate to each other.
func (o *Options) credentials() (options []nats.Option, err error) {
	switch {
	case o.InProcess != nil:
		options = append(options, nats.InProcessServer(o.InProcess))
	case o.TLS != nil:
		options = append(options, nats.Secure(o.TLS.Clone()))
	case o.TLSCA != "":
		options = append(options, nats.RootCAs(o.TLSCA))
	}
	options = append(options, nats.CustomInboxPrefix(inbox(o.user())))
	switch {
	case o.Password != "":
		options = append(options, nats.UserInfo(o.user(), o.Password))
	case o.Creds != "":
		options = append(options, nats.UserCredentials(o.Creds))
	case o.NKey != "":
		key, err := nats.NkeyOptionFromSeed(o.NKey)
		if err != nil {
			return nil, fmt.Errorf("the key in %s: %w", o.NKey, err)
		}
		options = append(options, key)
	}
	return options, nil
}

// warnOnce logs a warning if none with the same key was logged before. After 1000 warnings it logs
// no more.
func (b *Bus) warnOnce(key string, err error, message string) {
	if b.isFirst(key) {
		b.options.Log.Warn().Err(err).Msg(message)
	}
}

// isFirst reports whether it was not called with this key before. After 1000 keys it returns false.
func (b *Bus) isFirst(key string) bool {
	const most = 1000
	b.mu.Lock()
	defer b.mu.Unlock()
	first := len(b.said) < most && !b.said[key]
	if first {
		b.said[key] = true
	}
	return first
}

// Wait returns nil when ctx ends, and an error when the connection is of no use any more: the
// server refuses the credentials, does not permit what this process needs, or takes only small
// messages. The error wraps [queens.ErrNoConnection].
func (b *Bus) Wait(ctx context.Context) error { return b.wait(ctx, nil) }

// Await waits until a server has accepted the connection. It also returns when ctx ends, and
// otherwise like [Bus.Wait].
func (b *Bus) Await(ctx context.Context) error { return b.wait(ctx, b.first) }

func (b *Bus) wait(ctx context.Context, until <-chan struct{}) error {
	poll, last, asks := time.Tick(time.Second), make(chan error, 1), false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-until:
			return nil
		case <-b.usable.Done():
			return context.Cause(b.usable)
		case <-poll:
			if !asks && !b.Connected() {
				asks = true
				go func() { last <- b.conn.LastError() }() // waits during a login
			}
		case err := <-last: // the client tries again whatever the first server that it reaches says
			asks = false
			if isRefusal(err) && !b.Connected() {
				if !b.found.Load() {
					return b.options.explain(err)
				}
				b.warnOnce("refused "+err.Error(), err,
					"a server in place of the lost one refuses the connection, trying again")
			}
		}
	}
}

// Close waits up to a quarter of a second until the server has all that was sent, and ends the
// connection.
func (b *Bus) Close() {
	b.flush(time.Second / 4)
	b.dialer.close()
	b.conn.Close()
}

// flush waits until the server has all that was sent. It is best effort.
func (b *Bus) flush(timeout time.Duration) {
	if b.Connected() {
		_ = b.conn.FlushTimeout(timeout)
	}
}

// User returns the name of the NATS user of the connection.
func (b *Bus) User() string { return b.options.user() }

func (o *Options) user() string { return cmp.Or(o.User, queens.WorkerUser) }

// Connected reports whether the server can be reached.
func (b *Bus) Connected() bool { return b.isUp.Load() }

// MaxPayload returns the size of the largest message that the server takes, in bytes; 0 before the
// first connection.
func (b *Bus) MaxPayload() int { return int(b.maxPayload.Load()) }

// Server returns the address of the connected server, or those of the options, without passwords.
func (b *Bus) Server() string {
	if b.options.InProcess == nil && b.Connected() {
		return queens.Sanitize(Redact(b.conn.ConnectedUrl()))
	}
	return b.options.servers()
}

func (o *Options) servers() string {
	if o.InProcess != nil {
		return "the server of this process"
	}
	return Redact(o.URL)
}

// userinfo matches what stands in an address before its @, and captures the scheme.
var userinfo = regexp.MustCompile(`([^,]*?://)?[^,]*@`)

// Redact hides users, passwords and tokens in a list of addresses, even if they are not valid URLs.
func Redact(addresses string) string { return userinfo.ReplaceAllString(addresses, "${1}***@") }

// isUnknown reports whether an error says that the server does not know the user or its password,
// or knows them no longer.
func isUnknown(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthRevoked)
}

// isRefusal reports whether an error says that a server was reached and that trying again is of no
// use.
func isRefusal(err error) bool {
	return isUnknown(err) || errors.Is(err, nats.ErrNkeysNotSupported) ||
		errors.Is(err, nats.ErrSecureConnWanted) || errors.Is(err, nats.ErrSecureConnRequired) ||
		errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(tls.AlertError)) ||
		errors.As(err, new(tls.RecordHeaderError)) ||
		err != nil && strings.Contains(err.Error(), "remote error: tls:")
}

// explain returns an error that says which server can't be used, why, and what may help.
func (o *Options) explain(err error) error {
	why, hint := cause(err)
	switch {
	case errors.As(err, new(*url.Error)): // its text quotes the address, and so a password in it
		return fmt.Errorf("%w: %s is not the address of a server, such as nats://127.0.0.1:4222",
			queens.ErrNoConnection, o.servers())
	case isUnknown(err) && o.Password != "":
		return fmt.Errorf("%w: the server %s refuses this token: it may have been removed; ask for a "+
			"new invitation, "+
			"or copy the token of your own server again", queens.ErrNoConnection, o.servers())
	case isUnknown(err):
		hint = "the server asks for a token or other credentials: see --join, --creds and --nkey"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		hint = "name the authority of the server's certificate with --tls-ca"
	case isRefusal(err):
		hint = "has the server TLS as the address or the token says, and the right certificate?"
	}
	return fmt.Errorf("%w: %s: %s: %s", queens.ErrNoConnection, o.servers(), why,
		cmp.Or(hint, "is it a NATS server?"))
}
