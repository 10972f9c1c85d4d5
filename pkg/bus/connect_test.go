package bus_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

func TestConnectFailsWithoutAServer(t *testing.T) {
	t.Parallel()
	stopped := bustest.Server(t)
	stopped.Stop()
	for name, cfg := range map[string]bus.Config{
		"closed port":  {URL: "nats://" + testkit.Address(t)},
		"of several":   {URL: "nats://" + testkit.Address(t) + ",nats://" + testkit.Address(t)},
		"no such host": {URL: "nats://nqueens.invalid:4222"},
		"no URL":       {URL: "nats://:port"},
		"stopped":      {InProcess: stopped},
	} {
		b, err := bus.Connect(cfg)
		if err == nil {
			b.Close()
		}
		if !errors.Is(err, run.ErrNoConnection) {
			t.Errorf("%s: error %v, want one that wraps %v", name, err, run.ErrNoConnection)
		}
	}
}

// Neither errors nor logs contain a password, even if the address is malformed.
func TestPasswordsAreHidden(t *testing.T) {
	t.Parallel()
	address := testkit.Address(t)
	for _, url := range []string{
		"nats://queen:s3cret@" + address,
		"nats://s3cret@" + address,
		"queen:s3cret@" + address,
		"s3cret@" + address,
		"nats://queen:s3cret#@" + address,
		"nats://queen:s3cret%zz@" + address,
		"nats://queen:s3cret/@" + address,
		"nats://queen:s3cret?@" + address,
		"nats://queen:s3cret@" + address + ":x",
		"nats://" + address + ",queen:s3cret@" + address,
	} {
		for _, wait := range []bool{false, true} {
			var log testkit.Log
			b, err := bus.Connect(bus.Config{URL: url, Wait: wait, Log: log.Logger()})
			if err == nil {
				_ = b.WaitClosed(within(t, 50*time.Millisecond))
				if strings.Contains(b.Server(), "s3cret") {
					t.Errorf("%s: Server() is %s", url, b.Server())
				}
				b.Close()
			} else if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: the error is %q", url, err)
			}
			if lines := log.Lines("s3cret"); len(lines) > 0 {
				t.Errorf("%s: the log has %q", url, lines)
			}
		}
	}
}

func TestPasswordsAreHiddenWhileConnected(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	guarded := guardedServer(t)
	b, err := bus.Connect(bus.Config{URL: "nats://queen:s3cret@" + guarded.Addr().String(), Log: log.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ensure(t, b)
	if server := b.Server(); strings.Contains(server, "s3cret") || !strings.Contains(server, guarded.Addr().String()) {
		t.Errorf("Server() is %s", server)
	}
	guarded.Shutdown()
	testkit.Eventually(t, "a log line about the lost connection", func() bool {
		return len(log.Lines("connection lost")) == 1
	})
	if lines := log.Lines("s3cret"); len(lines) > 0 {
		t.Errorf("the log has %q", lines)
	}
}

func TestConnectFailsOnRefusedCredentials(t *testing.T) {
	t.Parallel()
	guarded := guardedServer(t)
	for _, credentials := range []string{"", "queen:wr0ng@", "pawn:s3cret@", "t0ken@"} {
		var err error
		testkit.Eventually(t, "an answer in time", func() bool {
			var b *bus.Bus
			if b, err = bus.Connect(bus.Config{URL: "nats://" + credentials + guarded.Addr().String()}); err == nil {
				b.Close()
			}
			var slow net.Error
			return !errors.As(err, &slow) || !slow.Timeout()
		})
		if !errors.Is(err, run.ErrNoConnection) || !strings.Contains(strings.ToLower(err.Error()), "authorization violation") {
			t.Errorf("with %q: error %v", credentials, err)
		}
	}
}

// A worker that waits for its server does not wait for one that refuses its credentials.
func TestWaitClosedReturnsOnRefusedCredentials(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	guarded := guardedServer(t)
	b, err := bus.Connect(bus.Config{URL: "nats://queen:wr0ng@" + guarded.Addr().String(), Wait: true, Log: log.Logger()})
	if err == nil {
		defer b.Close()
		err = b.WaitClosed(within(t, testkit.Stall))
	}
	if !errors.Is(err, run.ErrNoConnection) || !strings.Contains(strings.ToLower(err.Error()), "authorization violation") {
		t.Errorf("error %v, want one that wraps %v and says why", err, run.ErrNoConnection)
	}
	if err != nil && strings.Contains(err.Error(), "wr0ng") || len(log.Lines("wr0ng")) > 0 {
		t.Errorf("the password is shown: error %v, log %q", err, log.Lines(""))
	}
}

// A server that comes back with another password ends the connection.
func TestWaitClosedReturnsOnRevokedCredentials(t *testing.T) {
	t.Parallel()
	_, text, _ := net.SplitHostPort(testkit.Address(t))
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	guarded := guardedServerAt(t, port)
	b, err := bus.Connect(bus.Config{URL: "nats://queen:s3cret@" + guarded.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	guarded.Shutdown()
	guarded.WaitForShutdown()
	startServer(t, &server.Options{Host: "127.0.0.1", Port: port, Username: "queen", Password: "changed", StoreDir: t.TempDir(), NoSigs: true})
	if err := b.WaitClosed(within(t, testkit.Stall)); !errors.Is(err, run.ErrNoConnection) {
		t.Errorf("error %v, want one that wraps %v", err, run.ErrNoConnection)
	}
	// Who begins to listen only then is told the same.
	_, err = b.Telemetry().SubscribeAnnouncements(func(run.Announcement) {})
	if !errors.Is(err, run.ErrNoConnection) {
		t.Errorf("subscribe: error %v, want one that wraps %v", err, run.ErrNoConnection)
	}
}

func TestWaitClosedWaitsWhileTheServerIsAway(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	guarded := guardedServer(t)
	var log testkit.Log
	b, err := bus.Connect(bus.Config{URL: "nats://queen:s3cret@" + guarded.Addr().String(), Log: log.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	guarded.Shutdown()
	testkit.Eventually(t, "the connection is lost", func() bool { return len(log.Lines("connection lost")) == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := b.WaitClosed(ctx); err != nil {
		t.Errorf("error %v while the server is away", err)
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	s := bustest.Server(t)
	b := bustest.Connect(t, s)
	ensure(t, b)
	queue := b.Queue()
	if _, err := queue.Take(t.Context(), "n8-a", 1); err != nil {
		t.Fatal(err)
	}
	queue.Park("n8-a")
	if _, err := b.Telemetry().SubscribeAnnouncements(func(run.Announcement) {}); err != nil {
		t.Fatal(err)
	}
	b.Close()
	testkit.NoGoroutines(t, "nats.go")
}

func TestRequestsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	silent := startServer(t, &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true})
	conn, err := nats.Connect(silent.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Subscribe("$JS.API.>", func(*nats.Msg) {}); err != nil { // and never answers
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	b, err := bus.Connect(bus.Config{URL: silent.ClientURL(), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Stall)
	defer cancel()
	err = b.Ensure(ctx, "n8-a")
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		t.Errorf("error %v with a later deadline of the caller, whose context has error %v", err, ctx.Err())
	}
	says(t, "Ensure", err, results, "no answer within 5s", "permit")
}

// guardedServer starts a server that accepts the user queen with the password s3cret.
func guardedServer(t *testing.T) *server.Server {
	t.Helper()
	return guardedServerAt(t, server.RANDOM_PORT)
}

func guardedServerAt(t *testing.T, port int) *server.Server {
	t.Helper()
	return startServer(t, &server.Options{
		Host: "127.0.0.1", Port: port, Username: "queen", Password: "s3cret",
		JetStream: true, StoreDir: t.TempDir(), NoSigs: true, AuthTimeout: testkit.Stall.Seconds(), // a stall is no refusal
	})
}

func startServer(t *testing.T, options *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(testkit.Stall) {
		t.Fatal("the server is not ready")
	}
	return s
}
