package bus_test

import (
	"os"
	"testing"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/testkit"
)

// forgetful is a server whose store can be put back to an older copy.
type forgetful struct {
	cfg    natsserver.Config
	server *natsserver.Server
	copy   string // of the store
}

func newForgetful(t *testing.T) *forgetful {
	t.Helper()
	f := &forgetful{
		cfg:  natsserver.Config{StoreDir: t.TempDir() + "/store", Listen: testkit.Address(t), Log: zerolog.Nop()},
		copy: t.TempDir() + "/copy",
	}
	f.server = bustest.Start(t, f.cfg)
	return f
}

// save makes the copy. The server is away meanwhile.
func (f *forgetful) save(t *testing.T) {
	t.Helper()
	f.server.Stop()
	if err := os.CopyFS(f.copy, os.DirFS(f.cfg.StoreDir)); err != nil {
		t.Fatal(err)
	}
	f.server = bustest.Start(t, f.cfg)
}

// rollBack puts the copy back. Before the server can be reached again by its clients, it calls publish with
// a connection of another client.
func (f *forgetful) rollBack(t *testing.T, publish func(b *bus.Bus)) {
	t.Helper()
	f.server.Stop()
	if err := os.RemoveAll(f.cfg.StoreDir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(f.cfg.StoreDir, os.DirFS(f.copy)); err != nil {
		t.Fatal(err)
	}
	hidden := f.cfg
	hidden.Listen = ""
	server := bustest.Start(t, hidden)
	publish(bustest.Connect(t, server))
	server.Stop()
	f.server = bustest.Start(t, f.cfg)
}
