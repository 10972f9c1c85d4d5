package bus_test

import (
	"context"
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

func snapshot(name string, done uint64) run.Progress {
	return run.Progress{
		Run: name, N: 8, Symmetry: queens.Full, State: run.Running, Done: done, Tasks: 1000,
		Solutions: new(big.Int).SetUint64(done), Workers: []run.WorkerStatus{{Name: "w", Kernel: "generic", Threads: 2}},
	}
}

// Who watches a run gets its snapshots and no others, in the order in which they were
// published; who has stopped gets nothing more.
func TestProgressIsDelivered(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	from := bustest.Connect(t, server)
	one, other := watchProgress(t, bustest.Connect(t, server), "n8-a"), watchProgress(t, bustest.Connect(t, server), "n8-b")
	one.await(t, from, snapshot("n8-a", 0))
	other.await(t, from, snapshot("n8-b", 0))
	for done := range uint64(100) {
		for _, run := range []string{"n8-b", "n8-a"} {
			if err := from.Telemetry().PublishProgress(snapshot(run, 1+done)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for done := range uint64(100) {
		one.expect(t, snapshot("n8-a", 1+done))
		other.expect(t, snapshot("n8-b", 1+done))
	}
	one.end(t)
	for _, run := range []string{"n8-a", "n8-b"} {
		if err := from.Telemetry().PublishProgress(snapshot(run, 999)); err != nil {
			t.Fatal(err)
		}
	}
	other.expect(t, snapshot("n8-b", 999))
	if len(one.seen) != 0 {
		t.Error("who has stopped still gets snapshots")
	}
	for _, run := range []string{"*", ""} {
		if err := from.Telemetry().WatchProgress(t.Context(), run, nil); err == nil {
			t.Errorf("a run of the name %q can be watched", run)
		}
	}
}

// A server that comes back has those who watch again; what is published while it is away
// is dropped, and holds nobody up.
func TestProgressAfterARestart(t *testing.T) {
	t.Parallel()
	cfg := natsserver.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0"}
	server := bustest.Start(t, cfg)
	cfg.Listen = strings.TrimPrefix(server.ClientURL(), "nats://")
	outside := func(c *bus.Config) { c.InProcess, c.URL = nil, server.ClientURL() }
	from := bustest.Connect(t, nil, outside)
	w := watchProgress(t, bustest.Connect(t, nil, outside), "n8-a")
	w.await(t, from, snapshot("n8-a", 1))
	server.Stop()
	testkit.Eventually(t, "the connection is lost", func() bool { return from.Connected() != nil })
	start := time.Now()
	for range 1000 {
		if err := from.Telemetry().PublishProgress(snapshot("n8-a", 2)); err != nil {
			t.Fatalf("while the server is away: %v", err)
		}
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("while the server is away, 1000 snapshots take %v", took)
	}
	bustest.Start(t, cfg)
	testkit.Eventually(t, "the connection is there again", func() bool { return from.Connected() == nil })
	w.await(t, from, snapshot("n8-a", 3))
	if n := w.counted[2]; n != 0 {
		t.Errorf("%d of the snapshots of meanwhile arrive", n)
	}
}

// Garbage is counted as such and does not keep the next from being heard.
func TestProgressRefusesWhatItCantRead(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	watcher, from := bustest.Connect(t, server), bustest.Connect(t, server)
	w := watchProgress(t, watcher, "n8-a")
	w.await(t, from, snapshot("n8-a", 1))
	conn, _ := bustest.Admin(t, server)
	for _, garbage := range [][]byte{{0xff, 0xfe}, nil, make([]byte, 1<<19)} {
		if err := conn.Publish("nq.progress.n8-a", garbage); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "the garbage is counted", func() bool { return watcher.Rejected() == 3 })
	w.await(t, from, snapshot("n8-a", 2))
}

// The names of runs are those that have a record, and to ask for them, or for a record,
// changes nothing: no consumer is made.
func TestRunNamesChangeNothing(t *testing.T) {
	t.Parallel()
	server := bustest.Server(t)
	b := bustest.Connect(t, server)
	conn, js := bustest.Admin(t, server)
	if names, err := b.Registry().Names(t.Context()); err != nil || len(names) != 0 {
		t.Fatalf("without a bucket the names are %q (error %v)", names, err)
	}
	if err := b.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"n8-a", "n8-b", "n8-c"}
	for _, run := range append(want, "n8-gone") {
		if _, err := b.Registry().Claim(t.Context(), record(run)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Registry().Delete(t.Context(), "n8-gone"); err != nil {
		t.Fatal(err)
	}
	var asked []string
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
	for m, err := spy.NextMsg(time.Second); err == nil; m, err = spy.NextMsg(100 * time.Millisecond) {
		asked = append(asked, m.Subject)
	}
	reads := slices.DeleteFunc(asked, func(s string) bool {
		return strings.HasPrefix(s, "$JS.API.STREAM.INFO.") || strings.HasPrefix(s, "$JS.API.STREAM.LIST") || strings.HasPrefix(s, "$JS.API.DIRECT.GET.")
	})
	if len(asked) == 0 || len(reads) != 0 {
		t.Errorf("asked were %q, of which %q are no reads", asked, reads)
	}
}

// streamStates tells what streams there are, with what in them and how many consumers.
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

// watching is somebody who watches until the test ends.
type watching struct {
	seen    chan run.Progress
	counted map[uint64]int // by done
	stop    context.CancelFunc
	ended   chan error
}

func watchProgress(t *testing.T, b *bus.Bus, name string) *watching {
	ctx, stop := context.WithCancel(t.Context())
	w := &watching{seen: make(chan run.Progress, 10_000), counted: make(map[uint64]int), stop: stop, ended: make(chan error, 1)}
	go func() {
		w.ended <- b.Telemetry().WatchProgress(ctx, name, func(s run.Progress) { w.seen <- s })
		close(w.ended)
	}()
	t.Cleanup(func() { w.end(t) })
	return w
}

// await publishes the snapshot until it is seen: the first may come before anyone watches.
func (w *watching) await(t *testing.T, from *bus.Bus, want run.Progress) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if err := from.Telemetry().PublishProgress(want); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-w.seen:
			if w.counted[got.Done]++; got.Run == want.Run && got.Done == want.Done {
				w.drain()
				return
			}
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("%d done of run %s is not seen", want.Done, want.Run)
}

// drain forgets what is still on its way: it was published more than once to be seen once.
func (w *watching) drain() {
	for {
		select {
		case <-w.seen:
		case <-time.After(200 * time.Millisecond):
			return
		}
	}
}

func (w *watching) expect(t *testing.T, want run.Progress) {
	t.Helper()
	got := receive(t, w.seen, 5*time.Second, "a snapshot")
	if got.Run != want.Run || got.Done != want.Done || got.Solutions.Cmp(want.Solutions) != 0 || !slices.Equal(got.Workers, want.Workers) {
		t.Fatalf("the next snapshot is %+v, want %+v", got, want)
	}
}

func (w *watching) end(t *testing.T) {
	t.Helper()
	w.stop()
	if err := receive(t, w.ended, 2*time.Second, "WatchProgress returns, having been told to"); err != nil {
		t.Errorf("WatchProgress ends with the error %v", err)
	}
}
