package natsserver_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/testkit"
)

func TestListenAcceptsConnections(t *testing.T) {
	t.Parallel()
	server := bustest.Start(t, natsserver.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Log: zerolog.Nop()})
	conn, err := nats.Connect(server.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	store(t, conn, "a")
	_, inside := bustest.Admin(t, server)
	if stream, err := inside.Stream(t.Context(), "LETTERS"); err != nil || stream.CachedInfo().State.Msgs != 1 {
		t.Errorf("the message stored from outside is missing: error %v", err)
	}
}

// A server finds what another has stored in its folder.
func TestStoreSurvivesARestart(t *testing.T) {
	t.Parallel()
	cfg := natsserver.Config{StoreDir: t.TempDir(), Log: zerolog.Nop()}
	first := bustest.Start(t, cfg)
	conn, _ := bustest.Admin(t, first)
	store(t, conn, "a", "b")
	first.Stop()
	_, js := bustest.Admin(t, bustest.Start(t, cfg))
	if stream, err := js.Stream(t.Context(), "LETTERS"); err != nil || stream.CachedInfo().State.Msgs != 2 {
		t.Errorf("the messages stored before are missing: error %v", err)
	}
}

// All files of the store are in its folder.
func TestStoreStaysInItsFolder(t *testing.T) {
	temporary, folder := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	conn, _ := bustest.Admin(t, bustest.Start(t, natsserver.Config{StoreDir: folder, Log: zerolog.Nop()}))
	store(t, conn, "a")
	if inside, err := os.ReadDir(folder); err != nil || len(inside) == 0 {
		t.Errorf("the store's folder has %v (error %v)", inside, err)
	}
	if outside, err := os.ReadDir(temporary); err != nil || len(outside) != 0 {
		t.Errorf("the folder for temporary files has %v (error %v)", outside, err)
	}
}

// A server that cannot start returns an error that says why.
func TestStartErrorsNameTheCause(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	taken := listener.Addr().String()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cfg  natsserver.Config
		says []string
	}{
		"port in use":                 {natsserver.Config{StoreDir: t.TempDir(), Listen: taken}, []string{taken, "address already in use"}},
		"address of another machine":  {natsserver.Config{StoreDir: t.TempDir(), Listen: "192.0.2.1:4222"}, []string{"192.0.2.1:4222", "assign"}},
		"store under a file":          {natsserver.Config{StoreDir: filepath.Join(file, "store")}, []string{file, "not a directory"}},
		"store that is a file":        {natsserver.Config{StoreDir: file}, []string{file, "not a directory"}},
		"store under a file, listens": {natsserver.Config{StoreDir: filepath.Join(file, "store"), Listen: "127.0.0.1:0"}, []string{file, "not a directory"}},
		"no store":                    {natsserver.Config{}, []string{"folder"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.cfg.Log = zerolog.Nop()
			server, err := natsserver.Start(c.cfg)
			if err == nil {
				server.Stop()
				t.Fatal("it starts; want an error")
			}
			for _, word := range c.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error %q does not say %q", err, word)
				}
			}
			testkit.NoGoroutines(t, "nats-server")
		})
	}
}

func TestListenAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"4222", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:nats", "nats://127.0.0.1:4222", "::1:4222",
	} {
		server, err := natsserver.Start(natsserver.Config{StoreDir: t.TempDir(), Listen: address})
		if err == nil {
			server.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), "with a port") {
			t.Errorf("%q: error %v", address, err)
		}
	}
}

func TestStopLeavesNothingRunning(t *testing.T) {
	for name, listen := range map[string]string{"no port": "", "a port": "127.0.0.1:0"} {
		t.Run(name, func(t *testing.T) {
			server, err := natsserver.Start(natsserver.Config{StoreDir: t.TempDir(), Listen: listen, Log: zerolog.Nop()})
			if err != nil {
				t.Fatal(err)
			}
			conn, _ := bustest.Admin(t, server)
			store(t, conn, "a")
			server.Stop() // while a client is connected
			testkit.NoGoroutines(t, "nats-server")
			server.Stop() // a second time is harmless
		})
	}
}

// A healthy server logs nothing at level info or above.
func TestNothingIsLoggedWithoutTrouble(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	server, err := natsserver.Start(natsserver.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Log: log.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	conn, _ := bustest.Admin(t, server)
	store(t, conn, "a")
	server.Stop()
	if lines := log.Lines(""); len(lines) > 0 {
		t.Errorf("the log has %q", lines)
	}
}

func store(t *testing.T, conn *nats.Conn, letters ...string) {
	t.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Stall)
	defer cancel()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "LETTERS", Subjects: []string{"letter"}}); err != nil {
		t.Fatal(err)
	}
	for _, letter := range letters {
		if _, err := js.Publish(ctx, "letter", []byte(letter)); err != nil {
			t.Fatal(err)
		}
	}
}
