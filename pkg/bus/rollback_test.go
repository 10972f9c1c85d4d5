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

// A server loses the end of the stream of results, and the stream grows again beyond what was read, as after
// a power failure. Read comes to the results that were stored under sequences that it had read before: both
// while it runs, whatever was read since, and with the position of an earlier process.
func TestReadNoticesThatTheServerHasForgottenResults(t *testing.T) {
	t.Parallel()
	for name, regrown := range map[string]uint64{
		"and the stream grew again beyond the position": 6,
		"and the stream grew again to the position":     3,
		"and the stream grew again a little":            1,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForgetful(t)
			publisher := func() *bus.Bus { return connectTo(t, f.server) }
			ensure(t, publisher())
			for id := uint64(1); id <= 2; id++ {
				publishResult(t, publisher(), result("n8-a", id))
			}
			f.save(t)
			reader := connectTo(t, f.server)
			live := read(t, reader)
			for id := uint64(3); id <= 5; id++ {
				publishResult(t, publisher(), result("n8-a", id))
			}
			live.await(t, 1, 2, 3, 4, 5)
			var position = <-live.positions
			for range 4 {
				position = <-live.positions
			}
			var again []uint64
			f.rollBack(t, func(b *bus.Bus) {
				for id := uint64(11); id < 11+regrown; id++ {
					publishResult(t, b, result("n8-a", id))
					again = append(again, id)
				}
			})
			resumed := readAfter(t, publisher(), position)
			live.await(t, again...)
			resumed.await(t, again...)
			publishResult(t, publisher(), result("n8-a", 20))
			live.await(t, 20)
			resumed.await(t, 20)
		})
	}
}
