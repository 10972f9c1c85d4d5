// Package bustest gives tests a real NATS server and connections to it, all in this process.
// They end with the test. Only tests import it.
package bustest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/testkit"
)

// Server starts a server without a port that keeps its files in a temporary folder. It stops
// when the test ends.
func Server(t testing.TB) *natsserver.Server {
	t.Helper()
	return Start(t, natsserver.Config{StoreDir: t.TempDir(), Log: zerolog.Nop()})
}

// Start starts a server with that configuration. It stops when the test ends, unless it was
// stopped before.
func Start(t testing.TB, cfg natsserver.Config) *natsserver.Server {
	t.Helper()
	server, err := natsserver.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server
}

// Connect connects to the server as the program does, with the default lease and no log,
// after applying changes to the configuration. The connection is closed when the test ends.
func Connect(t testing.TB, server *natsserver.Server, changes ...func(*bus.Config)) *bus.Bus {
	t.Helper()
	cfg := bus.Config{InProcess: server, Name: t.Name(), Lease: bus.DefaultLease, Log: zerolog.Nop()}
	for _, change := range changes {
		change(&cfg)
	}
	b, err := bus.Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// Ensure makes what runs need on the server.
func Ensure(t testing.TB, b *bus.Bus, runs ...string) {
	t.Helper()
	for _, run := range runs {
		Insist(t, func() error { return b.Ensure(t.Context(), run) })
	}
}

// Insist asks a server again while it does not answer in time, as on a busy machine. Other errors fail the test.
func Insist(t testing.TB, ask func() error) {
	t.Helper()
	for deadline := time.Now().Add(testkit.Stall); ; {
		err := ask()
		if err == nil {
			return
		}
		if !errors.Is(err, context.DeadlineExceeded) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// Admin connects to the server as an operator's tools do, to inspect streams and to send
// invalid messages. The connection is closed when the test ends.
func Admin(t testing.TB, server nats.InProcessConnProvider, options ...nats.Option) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	conn, err := nats.Connect("", append(options, nats.InProcessServer(server), nats.Name("admin of "+t.Name()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(testkit.Stall))
	if err != nil {
		t.Fatal(err)
	}
	return conn, js
}
