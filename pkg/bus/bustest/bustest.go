// Package bustest gives tests a real server and connections to it, all in this
// process and gone with the test. Tests alone import it.
package bustest

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
)

// Server starts a server that opens no port and keeps its files in a folder of the
// test's own. It stops when the test ends.
func Server(t testing.TB) *natsserver.Server {
	t.Helper()
	return Start(t, natsserver.Config{StoreDir: t.TempDir(), Log: zerolog.Nop()})
}

// Start starts a server of that configuration. It stops when the test ends;
// stopping it before does no harm.
func Start(t testing.TB, cfg natsserver.Config) *natsserver.Server {
	t.Helper()
	server, err := natsserver.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server
}

// Connect connects to the server as the program does, with the default lease and
// no log, unless changes make the configuration another. The connection is closed
// when the test ends.
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

// Admin connects to the server as an operator's tools do, to look at the streams
// and to break the wire on purpose. The connection is closed when the test ends.
func Admin(t testing.TB, server nats.InProcessConnProvider) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	conn, err := nats.Connect("", nats.InProcessServer(server), nats.Name("admin of "+t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return conn, js
}
