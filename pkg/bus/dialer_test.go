package bus

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/testkit"
)

// A client waits for half a second to one second. The random part doubles with each failed login,
// up to a minute.
func TestReconnectDelay(t *testing.T) {
	for failed, most := range map[int]time.Duration{
		0: time.Second, 1: 1500 * time.Millisecond, 3: 4500 * time.Millisecond,
		6: 32500 * time.Millisecond, 7: 60500 * time.Millisecond, 1000: 60500 * time.Millisecond,
	} {
		if least := reconnectDelay(failed, 0); least != 500*time.Millisecond {
			t.Errorf("after %d logins at least %v", failed, least)
		}
		if got := reconnectDelay(failed, 1); got != most {
			t.Errorf("after %d logins at most %v, want %v", failed, got, most)
		}
	}
}

// A connection without a login is closed before the next attempt, and counts as a failed login. A
// server that can't be reached does not count. After a connection the count begins again.
func TestFailedLogins(t *testing.T) {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := listener.Addr().String()
	var d dialer
	attempt := 0
	next := func() int {
		attempt++
		d.delay(attempt)
		return d.failed
	}
	next()
	for want := 1; want <= 3; want++ {
		must(d.Dial("tcp", address))(t)
		server := must(listener.Accept())(t)
		if got := next(); got != want {
			t.Errorf("%d failed logins, want %d", got, want)
		}
		if _, err := server.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the connection is still there: %v", err)
		}
		must(d.Dial("tcp", address))(t)
		must(d.Dial("tcp", address))(t) // another address of the same server
		server = must(listener.Accept())(t)
		if _, err := server.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the connection is still there after another one: %v", err)
		}
		must(listener.Accept())(t)
		d.hangUp()
	}
	closed := dialer{closed: true}
	if _, err := closed.Dial("tcp", address); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a connection after the end: %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Dial("tcp", address); err == nil || next() != 3 {
		t.Errorf("%d failed logins after a refusal (%v)", d.failed, err)
	}
	attempt = 0
	if got := next(); got != 0 {
		t.Errorf("%d failed logins after a connection", got)
	}
}

// While the client logs in at a server that does not answer, nothing waits for it: messages fail at
// once, a request under way ends with its context, and the connection can be closed.
func TestLoginDelaysNothing(t *testing.T) {
	address := testkit.Address(t)
	first := startServer(t, natsserver.Config{Listen: address})
	b := connect(t, Options{URL: "nats://" + address})
	raw := connectRaw(t, first)
	asked := must(raw.SubscribeSync("nq.work.>"))(t)
	if err := raw.Flush(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	underWay := make(chan error)
	go func() {
		_, err := b.RequestWork(ctx, "r", process, &someRequest)
		underWay <- err
	}()
	if _, err := asked.NextMsgWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	first.Stop()
	mute := must(net.Listen("tcp", address))(t)
	login := must(mute.Accept())(t)
	cancel()
	if err := <-underWay; !errors.Is(err, context.Canceled) {
		t.Errorf("the request under way: %v", err)
	}
	if _, err := b.RequestWork(t.Context(), "r", process, &someRequest); !errors.Is(err,
		errNoConnection) {
		t.Errorf("a request without a connection: %v", err)
	}
	if b.Announce(&someAnnouncement) == nil || b.Connected() || b.MaxPayload() == 0 {
		t.Error("an announcement without a connection")
	}
	_ = login.SetReadDeadline(time.Now().Add(10 * time.Millisecond)) // an end would be there already
	if _, err := login.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
		t.Error("a call has waited for the end of the login")
	}
	_ = login.SetReadDeadline(time.Time{})
	b.Close()
	if _, err := login.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the login goes on after Close: %v", err)
	}
	if err := b.conn.LastError(); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Close has waited for the end of the login: %v", err)
	}
}

// If ctx ends while a server accepts the connection and says nothing, Connect waits no longer.
func TestConnectEnds(t *testing.T) {
	mute := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	for _, wait := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = mute.Accept()
			cancel()
		}()
		b, err := Connect(ctx, Options{URL: "nats://" + mute.Addr().String(), Wait: wait})
		if wait != (b != nil) || !wait && !errors.Is(err, context.Canceled) {
			t.Errorf("wait %v: %v, error %v", wait, b, err)
		}
		if b != nil {
			if err := b.conn.LastError(); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Connect has waited for the login: %v", err)
			}
			b.Close()
		}
	}
}

// A connection that the client ends is not lost: the log says nothing.
func TestCloseSaysNothing(t *testing.T) {
	server := startServer(t, natsserver.Config{Listen: "127.0.0.1:0"})
	for range 20 {
		b := must(Connect(t.Context(), Options{URL: server.URL()}))(t)
		b.Close()
		b.failed(io.EOF, "connection lost") // as a handler that runs late
		if problem := b.Problem(); problem != "" {
			t.Fatalf("after Close: %s", problem)
		}
	}
}

// A first login that takes long is a line of the log, without passwords.
func TestSlowLoginIsSaid(t *testing.T) {
	var log strings.Builder
	b := &Bus{options: Options{URL: "nats://u:secret@host", Log: zerolog.New(&log)}}
	b.saySlow()
	if got := log.String(); !strings.Contains(got, "host has not answered for 3 s, and has 30 s") ||
		strings.Contains(got, "secret") {
		t.Errorf("the log says %s", got)
	}
}

// A server in the same process gets no pings: it may answer late, and is never out of reach.
func TestPings(t *testing.T) {
	server := startServer(t, natsserver.Config{Listen: "127.0.0.1:0"})
	if got := connect(t, Options{InProcess: server}).conn.Opts.PingInterval; got != 0 {
		t.Errorf("a ping every %v within the process", got)
	}
	if got := connect(t, Options{URL: server.URL()}).conn.Opts; got.PingInterval != pingInterval ||
		got.MaxPingsOut != maxPings || got.Timeout != loginTimeout {
		t.Errorf("%d pings every %v, login %v", got.MaxPingsOut, got.PingInterval, got.Timeout)
	}
}
