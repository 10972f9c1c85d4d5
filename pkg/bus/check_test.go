package bus_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/identity/identitytest"
)

// A check of a server that has all leaves nothing there, before the first run and after it.
func TestCheckLeavesNothing(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	b := bustest.Connect(t, server)
	_, admin := bustest.Admin(t, server)
	for _, want := range []int{0, 3} { // streams of a run
		for _, f := range b.Check(t.Context()) {
			if f.Err != nil {
				t.Errorf("with %d streams, %s: %v", want, f.Need, f.Err)
			}
		}
		streams := 0
		for name := range admin.StreamNames(t.Context()).Name() {
			streams++
			if strings.HasPrefix(name, "NQ_PROBE") {
				t.Errorf("the check leaves the stream %s", name)
			}
		}
		if streams != want {
			t.Errorf("after the check there are %d streams, want %d", streams, want)
		}
		bustest.Ensure(t, b, "n8")
	}
}

// A check says of each need that the server does not meet what is missing.
func TestCheckSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	coordinator := identitytest.Of("coordinator")
	accounts := "accounts { NQ { jetstream: { max_file: 100MB, max_streams: 3, max_consumers: 1 }, users: [{ nkey: %s }] } }\nmax_payload: 65536\n"
	server := bustest.Start(t, natsserver.Config{
		StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Access: fmt.Sprintf(accounts, coordinator.Key()), Log: zerolog.Nop(),
	})
	b := bustest.Connect(t, server, func(c *bus.Config) { c.Identity, c.Replicas = coordinator, 3 })
	_, admin := bustest.Admin(t, server, nats.Nkey(coordinator.Key(), coordinator.Sign))
	_, err := admin.CreateStream(t.Context(), jetstream.StreamConfig{Name: results, Subjects: []string{"nq.result.*"}, Storage: jetstream.FileStorage, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]string{
		"max_payload":              "65536",
		"stream NQ_RESULTS":        "discard policy",
		"streams of the account":   "3 more are needed",
		"consumers of the account": "2 more are needed",
		"disk of the account":      "raise the limit of the account",
		"a new stream":             "replicas",
	}
	for _, f := range b.Check(t.Context()) {
		want, isMissing := missing[f.Need]
		delete(missing, f.Need)
		if isMissing && (f.Err == nil || !strings.Contains(f.Err.Error(), want)) || !isMissing && f.Err != nil {
			t.Errorf("%s: %q, error %v, want an error with %q", f.Need, f.Found, f.Err, want)
		}
	}
	if len(missing) > 0 {
		t.Errorf("no finding about %v", missing)
	}
}

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

// The usage of the streams is what the server holds of all runs.
func TestUsage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	before, results, err := s.bus.Usage(t.Context())
	if err != nil || before.Messages != 0 || before.Limit == 0 || results.Limit == 0 {
		t.Fatalf("empty streams: tasks %+v, results %+v, error %v", before, results, err)
	}
	publish(t, s.bus, chunk("n8-a", 1))
	tasks, after, err := s.bus.Usage(t.Context())
	if err != nil || tasks.Messages != 1 || tasks.Bytes <= before.Bytes || tasks.Limit != before.Limit || after != results {
		t.Errorf("with a chunk: tasks %+v, results %+v, error %v", tasks, after, err)
	}
	s.delete(t, "NQ_RESULTS")
	if _, _, err := s.bus.Usage(t.Context()); err == nil {
		t.Error("a missing stream is no error")
	}
}
