package bus_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
)

// Chunks have a limit in bytes, for which the server reserves space. One with little room gets a lower
// limit, and one without room for results is refused.
func TestChunksAreLimitedInBytes(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for room, want := range map[int64]int64{2048 * mib: 512 * mib, 300 * mib: 32 * mib, 274 * mib: 16 * mib} {
		b, js := limitedServer(t, room)
		if err := b.Ensure(t.Context(), "n8-a"); err != nil {
			t.Errorf("a server with room for %d bytes: %v", room, err)
			continue
		}
		stream, err := js.Stream(t.Context(), tasks)
		if err != nil {
			t.Fatal(err)
		}
		if got := stream.CachedInfo().Config.MaxBytes; got != want {
			t.Errorf("a server with room for %d bytes has a limit of %d for tasks, want %d", room, got, want)
		}
	}
	b, _ := limitedServer(t, 200*mib)
	says(t, "Ensure", b.Ensure(t.Context(), "n8-a"), "too little room", "272 MiB")
}

// limitedServer starts a server with room for that many bytes in its streams.
func limitedServer(t *testing.T, room int64) (*bus.Bus, jetstream.JetStream) {
	t.Helper()
	s := startServer(t, &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, JetStreamMaxStore: room, StoreDir: t.TempDir(), NoSigs: true,
	})
	b, err := bus.Connect(bus.Config{URL: s.ClientURL(), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return b, js
}
