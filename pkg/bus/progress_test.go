package bus_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

func snapshot(name string, done uint64) *run.Snapshot {
	return &run.Snapshot{
		Run: name, N: 8, Symmetry: queens.Full, State: run.Running, Done: done, Tasks: 1000,
		Solutions: (*run.Decimal)(new(big.Int).SetUint64(done)), WorkerList: []run.Worker{{Name: "w", Kernel: "generic", Threads: 2}},
	}
}

// A watcher of a run gets its snapshots in the order of their publication, none of other
// runs, and none after it has stopped.
func TestProgressIsDelivered(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	from := bustest.Connect(t, server)
	one, other := watchProgress(t, bustest.Connect(t, server), "n8-a"), watchProgress(t, bustest.Connect(t, server), "n8-b")
	one.await(t, from, snapshot("n8-a", 0))
	other.await(t, from, snapshot("n8-b", 0))
	for done := range uint64(100) {
		for _, run := range []string{"n8-b", "n8-a"} {
			if err := from.Telemetry().PublishSnapshot(snapshot(run, 1+done)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for done := range uint64(100) {
		one.expect(t, snapshot("n8-a", 1+done))
		other.expect(t, snapshot("n8-b", 1+done))
	}
	one.end()
	for _, run := range []string{"n8-a", "n8-b"} {
		if err := from.Telemetry().PublishSnapshot(snapshot(run, 999)); err != nil {
			t.Fatal(err)
		}
	}
	other.expect(t, snapshot("n8-b", 999))
	if len(one.seen) != 0 {
		t.Error("a stopped watcher still gets snapshots")
	}
	for _, run := range []string{"*", ""} {
		if _, err := from.Telemetry().SubscribeSnapshots(run, nil); err == nil {
			t.Errorf("a run named %q can be watched", run)
		}
	}
}

// Watchers resume when the server comes back. What is published while it is away is dropped
// without waiting.
func TestProgressResumesAfterAServerRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	cfg := natsserver.Config{StoreDir: t.TempDir(), Listen: testkit.Address(t)}
	server := bustest.Start(t, cfg)
	outside := func(c *bus.Config) { c.InProcess, c.URL = nil, server.ClientURL() }
	from := bustest.Connect(t, nil, outside)
	w := watchProgress(t, bustest.Connect(t, nil, outside), "n8-a")
	w.await(t, from, snapshot("n8-a", 1))
	server.Stop()
	testkit.Eventually(t, "the connection is lost", func() bool { return from.Connected() != nil })
	start := time.Now()
	for range 1000 {
		if err := from.Telemetry().PublishSnapshot(snapshot("n8-a", 2)); err != nil {
			t.Fatalf("while the server is away: %v", err)
		}
	}
	if took := time.Since(start); took > testkit.Stall {
		t.Errorf("while the server is away, 1000 snapshots take %v", took)
	}
	bustest.Start(t, cfg)
	testkit.Eventually(t, "the connection is back", func() bool { return from.Connected() == nil })
	w.await(t, from, snapshot("n8-a", 3))
	if n := w.counted[2]; n != 0 {
		t.Errorf("%d of the snapshots published meanwhile arrive", n)
	}
}

// Reading the names of runs and their records changes nothing: it creates no consumer.
func TestReadingTheRegistryChangesNothing(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	b := bustest.Connect(t, server)
	conn, js := bustest.Admin(t, server)
	if names, err := b.Registry().Names(t.Context()); err != nil || len(names) != 0 {
		t.Fatalf("without a bucket the names are %q (error %v)", names, err)
	}
	bustest.Ensure(t, b, "n8-a")
	want := []string{"n8-a", "n8-b", "n8-c"}
	for _, run := range append(want, "n8-gone") {
		claim(t, b, record(run))
	}
	if err := b.Registry().Delete(t.Context(), "n8-gone"); err != nil {
		t.Fatal(err)
	}
	var requests []string
	spy, err := conn.SubscribeSync("$JS.API.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	before := streamStates(t, js)
	names, err := b.Registry().Names(t.Context())
	if slices.Sort(names); err != nil || !slices.Equal(names, want) {
		t.Errorf("the names are %q (error %v), want %q", names, err, want)
	}
	if r, err := b.Registry().Record(t.Context(), "n8-a"); err != nil || r.Run != "n8-a" {
		t.Errorf("the record is %+v (error %v)", r, err)
	}
	if after := streamStates(t, js); after != before {
		t.Errorf("the streams were\n%s\nand are\n%s", before, after)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	for m, err := spy.NextMsg(time.Second); err == nil; m, err = spy.NextMsg(100 * time.Millisecond) {
		requests = append(requests, m.Subject)
	}
	others := slices.DeleteFunc(slices.Clone(requests), func(s string) bool {
		return strings.HasPrefix(s, "$JS.API.STREAM.INFO.") || strings.HasPrefix(s, "$JS.API.STREAM.LIST") || strings.HasPrefix(s, "$JS.API.DIRECT.GET.")
	})
	if len(requests) == 0 || len(others) != 0 {
		t.Errorf("the requests were %q, of which %q do not only read", requests, others)
	}
}

// streamStates describes the streams: their messages and numbers of consumers.
func streamStates(t *testing.T, js jetstream.JetStream) string {
	t.Helper()
	var text strings.Builder
	streams := js.ListStreams(t.Context())
	for info := range streams.Info() {
		text.WriteString(strings.Join([]string{
			info.Config.Name, big.NewInt(int64(info.State.LastSeq)).String(), big.NewInt(int64(info.State.Msgs)).String(), big.NewInt(int64(info.State.Consumers)).String(),
		}, " ") + "\n")
	}
	if err := streams.Err(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// watcher watches a run until the test ends.
type watcher struct {
	seen    chan *run.Snapshot
	counted map[uint64]int // by done, until the awaited snapshot was seen
	awaited map[uint64]bool
	end     func()
}

func watchProgress(t *testing.T, b *bus.Bus, name string) *watcher {
	t.Helper()
	w := &watcher{seen: make(chan *run.Snapshot, 10_000), counted: make(map[uint64]int), awaited: make(map[uint64]bool)}
	var err error
	if w.end, err = b.Telemetry().SubscribeSnapshots(name, func(s *run.Snapshot) { w.seen <- s }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	return w
}

// await publishes the snapshot until it is seen. The first may be sent while the
// server is away.
func (w *watcher) await(t *testing.T, from *bus.Bus, want *run.Snapshot) {
	t.Helper()
	for deadline := time.Now().Add(testkit.Stall); time.Now().Before(deadline); {
		if err := from.Telemetry().PublishSnapshot(want); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-w.seen:
			if w.counted[got.Done]++; got.Run == want.Run && got.Done == want.Done {
				w.awaited[got.Done] = true
				return
			}
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("%d done of run %s is not seen", want.Done, want.Run)
}

// expect checks the next snapshot, but for duplicates that await has published.
func (w *watcher) expect(t *testing.T, want *run.Snapshot) {
	t.Helper()
	got := receive(t, w.seen, "a snapshot")
	for w.awaited[got.Done] {
		got = receive(t, w.seen, "a snapshot")
	}
	if got.Run != want.Run || got.Done != want.Done || got.Solutions.String() != want.Solutions.String() || !slices.Equal(got.WorkerList, want.WorkerList) {
		t.Fatalf("the next snapshot is %+v, want %+v", got, want)
	}
}
