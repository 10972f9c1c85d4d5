package bus_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/testkit"
)

// Who may connect can change while a server runs: it closes the connections of those who may not any
// more, and disturbs no other.
func TestSetAccess(t *testing.T) {
	t.Parallel()
	coordinator, watcher, worker := identitytest.Of("coordinator"), identitytest.Of("watcher"), identitytest.Of("worker")
	users := []bus.User{
		{Role: bus.Coordinator, Name: "coordinator", Key: coordinator.Key()},
		{Role: bus.Watcher, Name: "watcher", Key: watcher.Key()},
		{Role: bus.Worker, Name: "worker", Key: worker.Key()},
	}
	before := bus.Access{Users: users[:2], TokenHash: joinTokenHash}
	server := bustest.Start(t, natsserver.Config{
		StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Access: before.ServerConfig(), Log: zerolog.Nop(),
	})
	connect := func(login nats.Option) (*nats.Conn, error) {
		conn, err := nats.Connect(server.ClientURL(), login, nats.MaxReconnects(0))
		if err == nil {
			t.Cleanup(conn.Close)
		}
		return conn, err
	}
	watching, err := connect(nats.Nkey(watcher.Key(), watcher.Sign))
	if err != nil {
		t.Fatal(err)
	}
	joined, err := connect(nats.UserInfo("join", joinToken))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connect(nats.Nkey(worker.Key(), worker.Sign)); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("a key connects before it is added: error %v", err)
	}
	var closed atomic.Bool
	own, err := nats.Connect("", nats.InProcessServer(server), nats.Nkey(coordinator.Key(), coordinator.Sign),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { closed.Store(true) }))
	if err != nil {
		t.Fatal(err)
	}
	kept := bustest.Connect(t, server, func(c *bus.Config) { c.Identity = coordinator })
	bustest.Ensure(t, kept, "n8")
	change := func(access bus.Access) {
		t.Helper()
		if err := server.SetAccess(access.ServerConfig()); err != nil {
			t.Fatal(err)
		}
	}
	change(bus.Access{Users: []bus.User{users[0], users[2]}, TokenHash: joinTokenHash})
	testkit.Eventually(t, "the revoked watcher is disconnected", watching.IsClosed)
	working, err := connect(nats.Nkey(worker.Key(), worker.Sign))
	if err != nil {
		t.Fatal(err)
	}
	if joined.IsClosed() {
		t.Error("another user's end disconnects those of the token")
	}
	change(bus.Access{Users: users[:1]}) // and no token
	testkit.Eventually(t, "the revoked worker is disconnected", working.IsClosed)
	testkit.Eventually(t, "the user of the token is disconnected", joined.IsClosed)
	if err := server.SetAccess("accounts {"); err == nil {
		t.Error("a wrong configuration is accepted")
	}
	if err := own.FlushTimeout(testkit.Stall); err != nil || closed.Load() {
		t.Errorf("a coordinator whose key is still valid was disconnected: error %v", err)
	}
	if _, _, err := kept.Tasks().Has(t.Context(), "n8", 1, 1); err != nil {
		t.Errorf("the streams are not there any more: %v", err)
	}
	own.Close()
}
