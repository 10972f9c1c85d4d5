package coordinator_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/worker"
)

// A run of many tasks streams through a real server and the ledger: all its tasks are
// accepted, and no more chunks are in flight at once than the window has room for.
func TestStreamIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	const (
		workers = 6
		window  = 12 * workers // chunks, of up to 6 threads
	)
	s := newStream(t, 14, 4)
	if s.m.Tasks < 50*window {
		t.Fatalf("%d tasks are too few to need a bound", s.m.Tasks)
	}
	got := s.flow(workers)
	if got.Total == nil || got.Total.Sign() != 0 || got.Snapshot.Done != s.m.Tasks {
		t.Errorf("total %v after %d of %d tasks, want 0 after all", got.Total, got.Snapshot.Done, s.m.Tasks)
	}
	if most := s.bus.most.Load(); most > window {
		t.Errorf("%d chunks were in flight at once, the window has room for %d", most, window)
	}
	if s.samples == 0 {
		t.Error("the server never said how many tasks it has")
	}
	// A task's message stays until its worker acknowledges it, perhaps after its result was
	// accepted; so does each message that was published again. Acknowledgements of a busy machine are late.
	if most := 4*window + got.Snapshot.Republished; s.queued > most {
		t.Errorf("%d chunks were on the server at once, with a window of %d and %d republished", s.queued, window, got.Snapshot.Republished)
	}
}

// stream is a run of tasks that cost nothing, with a real server and its files, the ledger
// with its fsyncs, and the services.
type stream struct {
	t      testing.TB
	m      queens.Manifest
	run    string
	folder string // of the ledger
	bus    *countedBus
	admin  jetstream.JetStream
	report func(run.Snapshot)
	beside func(context.Context, *coordinator.Coordinator, *progress.Roster) error // runs beside the services; nil for nothing

	kernel      kerneltest.Fake
	threads     int // of each worker
	reportEvery time.Duration

	heap, inUse uint64 // the most bytes seen: of objects, and of their spans
	queued      uint64 // the most tasks seen on the server
	samples     int    // of them
	size        int64  // of the ledger's file at the end, in bytes
}

// newStream plans a count of side n with full symmetry, a task for each prefix of
// depth rows, and starts a server.
func newStream(t testing.TB, n, depth int) *stream {
	t.Helper()
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), n, queens.Full, classes, depth)
	if err != nil {
		t.Fatal(err)
	}
	server := bustest.Server(t)
	_, admin := bustest.Admin(t, server)
	s := &stream{
		t: t, m: m, run: run.NewName(n, time.Now()), folder: t.TempDir(), admin: admin,
		bus: &countedBus{Bus: bustest.Connect(t, server)}, report: func(run.Snapshot) {},
		threads: 1, reportEvery: reportEvery,
		kernel: kerneltest.Fake{Count: func(context.Context, *queens.Board, []queens.Prefix, *atomic.Uint64) (uint64, error) {
			return 0, nil
		}},
	}
	bustest.Ensure(t, s.bus.Bus, s.run)
	return s
}

// reportEvery is the time between reports of a stream.
const reportEvery = 10 * time.Second

// flow takes the run to its end with so many workers.
func (s *stream) flow(workers int) coordinator.Outcome {
	s.t.Helper()
	l, err := ledger.Create(s.folder, ledger.Header{Run: s.run, Created: time.Now(), Manifest: s.m, Trust: ledger.Trust{Redundancy: 1}})
	if err != nil {
		s.t.Fatal(err)
	}
	claim, err := s.bus.Registry().Claim(s.t.Context(), run.Record{Run: s.run, Manifest: s.m, Owner: "a test", Redundancy: 1, Created: time.Now()})
	if err != nil {
		s.t.Fatal(err)
	}
	roster := progress.NewRoster()
	service := coordinator.New(coordinator.Config{
		Roster:         roster,
		Epoch:          claim.Epoch(),
		CheckAfter:     coordinator.DefaultCheckAfter,
		RepublishAfter: coordinator.DefaultRepublishAfter,
		DisputeTimeout: coordinator.DefaultDisputeTimeout,
		OnSnapshot:     s.report,
		ReportEvery:    s.reportEvery,
		Log:            zerolog.New(zerolog.NewTestWriter(s.t)).Level(zerolog.WarnLevel),
	}, countedTasks{s.bus.Tasks(), s.bus}, countedResults{s.bus.Results(), s.bus}, s.bus.Telemetry(), claim, l)
	unsubscribe, err := s.bus.Telemetry().SubscribeHeartbeats(func(h run.Heartbeat) {
		if roster.ObserveHeartbeat(h) == progress.Joins || len(h.Held) == 0 {
			service.Greet()
		}
	})
	if err != nil {
		s.t.Fatal(err)
	}
	defer unsubscribe()
	group, ctx := errgroup.WithContext(s.t.Context())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for range workers {
		w := worker.New(worker.Config{
			Name:     worker.NewName(),
			Identity: identitytest.Of("w"),
			Kernel:   s.kernel.Kernel(s.t),
			Threads:  s.threads,
			Lease:    bus.DefaultLease,
			Log:      zerolog.Nop(),
		}, s.bus.Queue(), s.bus.Results(), s.bus.Telemetry())
		group.Go(func() error { return w.Run(ctx) })
	}
	group.Go(func() error { return s.watch(ctx) })
	if s.beside != nil {
		group.Go(func() error { return s.beside(ctx, service, roster) })
	}
	var got coordinator.Outcome
	group.Go(func() error {
		defer stop()
		var err error
		got, err = service.Run(ctx)
		return err
	})
	if err := group.Wait(); err != nil {
		s.t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		s.t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(s.folder, ledger.File))
	if err != nil {
		s.t.Fatal(err)
	}
	s.size = info.Size()
	return got
}

// watch samples memory and the tasks on the server, ten times a second, until ctx ends.
// It skips samples that the server does not answer.
func (s *stream) watch(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		s.sampleHeap()
		if tasks, err := s.admin.Stream(ctx, "NQ_TASKS"); err == nil {
			s.queued = max(s.queued, tasks.CachedInfo().State.Msgs)
			s.samples++
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// sampleHeap notes the size of the heap, without stopping the process for it.
func (s *stream) sampleHeap() {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(samples)
	objects, unused := samples[0].Value.Uint64(), samples[1].Value.Uint64()
	s.heap, s.inUse = max(s.heap, objects), max(s.inUse, objects+unused)
}

// countedBus counts the chunks in flight: published, or about to be, and their result not yet
// passed to the coordinator.
type countedBus struct {
	*bus.Bus
	inflight, most atomic.Int64
	took           time.Duration // of receiving the results
}

type countedTasks struct {
	bus.Tasks
	counts *countedBus
}

func (t countedTasks) Publish(ctx context.Context, chunk *run.Chunk) (uint64, error) {
	c := t.counts
	for now := c.inflight.Add(1); ; {
		most := c.most.Load()
		if now <= most || c.most.CompareAndSwap(most, now) {
			break
		}
	}
	return t.Tasks.Publish(ctx, chunk)
}

type countedResults struct {
	bus.Results
	counts *countedBus
}

func (s countedResults) Read(ctx context.Context, name string, after run.StreamPosition,
	each func(run.ChunkResult, run.StreamPosition), caughtUp func(time.Time),
) error {
	start := time.Now()
	defer func() { s.counts.took = time.Since(start) }()
	return s.Results.Read(ctx, name, after, func(r run.ChunkResult, at run.StreamPosition) {
		s.counts.inflight.Add(-1)
		each(r, at)
	}, caughtUp)
}
