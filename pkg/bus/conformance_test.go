package bus_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/bustest/conformance"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// A bus over NATS does what coordinators and workers rely on.
func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Test(t, func(t *testing.T, lease time.Duration) conformance.TestServer {
		return &conforming{forgetful: newForgetful(t), lease: lease}
	}, func(t *testing.T, test func(*testing.T)) {
		t.Parallel()
		test(t)
	})
}

// conforming is a server for the tests of package bustest.
type conforming struct {
	*forgetful
	lease time.Duration
}

func (s *conforming) Connect(t *testing.T) conformance.Bus {
	t.Helper()
	return connection(connectTo(t, s.server, lease(s.lease)))
}

func connection(b *bus.Bus) conformance.Bus {
	return conformance.Bus{
		Ensure: b.Ensure, Tasks: b.Tasks(), Queue: func() conformance.Queue { return b.Queue() }, Results: b.Results(),
		Claim:  func(ctx context.Context, r run.Record) (conformance.Claim, error) { return b.Registry().Claim(ctx, r) },
		Record: b.Registry().Record, Cancel: b.Registry().Cancel, Telemetry: b.Telemetry(),
	}
}

func (s *conforming) Save(t *testing.T) {
	t.Helper()
	s.save(t)
}

func (s *conforming) RollBack(t *testing.T, publish func(conformance.Bus)) {
	t.Helper()
	s.rollBack(t, func(b *bus.Bus) { publish(connection(b)) })
}

func (s *conforming) DeleteStreams(t *testing.T) {
	t.Helper()
	_, js := bustest.Admin(t, s.server)
	for _, stream := range []string{tasks, results} {
		if err := js.DeleteStream(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *conforming) DeleteRecord(t *testing.T, name string) {
	t.Helper()
	_, js := bustest.Admin(t, s.server)
	bucket, err := js.KeyValue(t.Context(), bucket)
	if err != nil {
		t.Fatal(err)
	}
	if err := bucket.Purge(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

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
