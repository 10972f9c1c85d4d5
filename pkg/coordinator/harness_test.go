package coordinator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/testkit"
)

// The tests shorten the times of a run: what takes seconds otherwise happens soon.
const (
	checkAfter = 300 * time.Millisecond
	lease      = time.Second
)

var errStopped = errors.New("stopped by the test")

// testRun is a running coordinator with a real server. The test acts as its workers, right
// or wrong.
type testRun struct {
	t      *testing.T
	name   string
	m      queens.Manifest
	folder string // of the ledger
	cfg    coordinator.Config
	ledger *ledger.Ledger
	claim  *claim
	detail func(context.Context) (*run.Detail, error)
	lift   func(ctx context.Context, key string) error
	bus    *bus.Bus
	admin  jetstream.JetStream
	queue  *bus.Queue
	ready  []takenTask // of the last chunk taken
	// present are the heartbeats that awaitDetail sends.
	present []run.Heartbeat
	cancel  func()
	log     *testkit.Log

	latest atomic.Pointer[run.Snapshot]
	done   chan struct{}
	got    coordinator.Outcome
	err    error
}

// start starts a run of board side n. If the test fails, it prints the log.
func start(t *testing.T, n int, change func(*coordinator.Config)) *testRun {
	t.Helper()
	server := bustest.Server(t)
	name := run.NewName(n, time.Now())
	log := new(testkit.Log)
	logger := zerolog.New(log)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%s", strings.Join(log.Lines(""), ""))
		}
	})
	b := bustest.Connect(t, server, func(c *bus.Config) { c.Lease, c.Log = lease, logger })
	_, admin := bustest.Admin(t, server)
	bustest.Ensure(t, b, name)
	classes, err := symmetry.Classes(n, queens.Mirror)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), n, queens.Mirror, classes, 2)
	if err != nil {
		t.Fatal(err)
	}
	known, _ := queens.KnownTotal(n)
	r := &testRun{
		t: t, name: name, m: m, folder: t.TempDir(), claim: new(claim),
		bus: b, admin: admin, queue: b.Queue(), log: log,
	}
	r.cfg = coordinator.Config{
		Known:          known,
		Roster:         progress.NewRoster(),
		Admits:         func(string, []byte) (admitted, byToken bool) { return true, false },
		CheckAfter:     checkAfter,
		RepublishAfter: time.Hour,
		DisputeTimeout: checkAfter,
		OnSnapshot:     func(s run.Snapshot) { r.latest.Store(&s) },
		ReportEvery:    10 * time.Millisecond,
		Log:            logger,
	}
	if change != nil {
		change(&r.cfg)
	}
	if r.ledger, err = ledger.Create(r.folder, ledger.Header{Run: r.name, Created: time.Now(), Manifest: m, Trust: ledger.Trust{Redundancy: 1}}); err != nil {
		t.Fatal(err)
	}
	r.run()
	return r
}

// run starts a coordinator with the ledger as it is.
func (r *testRun) run() {
	r.t.Helper()
	r.latest.Store(new(run.Snapshot))
	r.done = make(chan struct{})
	c := coordinator.New(r.cfg, r.bus.Tasks(), r.bus.Results(), r.bus.Telemetry(), r.claim, r.ledger)
	r.detail, r.lift = c.Detail, c.Lift
	ctx, cancel := context.WithCancelCause(r.t.Context())
	r.cancel = func() { cancel(errStopped) }
	done := r.done
	go func() {
		defer close(done)
		r.got, r.err = c.Run(ctx)
		r.err = errors.Join(r.err, r.ledger.Close())
	}()
	r.t.Cleanup(func() { cancel(errStopped); <-done })
}

// restart stops the coordinator, as if it had died, and starts another on its ledger.
func (r *testRun) restart() {
	r.t.Helper()
	r.cancel()
	<-r.done
	r.resume()
}

// resume starts a coordinator on the ledger of one that has stopped.
func (r *testRun) resume() {
	r.t.Helper()
	r.open()
	r.run()
}

// open opens the ledger of a coordinator that has stopped. Once the next one runs, the ledger is that one's alone.
func (r *testRun) open() {
	r.t.Helper()
	var err error
	if r.ledger, err = ledger.Open(r.t.Context(), r.folder, nil); err != nil {
		r.t.Fatal(err)
	}
}

// claim is a claim whose renewals fail as the test says.
type claim struct {
	lost     atomic.Pointer[error]
	renewals atomic.Int64
	done     atomic.Uint64 // what the last renewal said
	revoked  atomic.Uint64 // how often a task lost its result, by the last one
}

func (c *claim) SetSnapshot(*run.Snapshot) {}

func (c *claim) Renew(_ context.Context, _ run.State, done, lost uint64) error {
	c.done.Store(done)
	c.revoked.Store(lost)
	c.renewals.Add(1)
	if err := c.lost.Load(); err != nil {
		return *err
	}
	return nil
}

func (r *testRun) tasks() int             { return int(r.m.Tasks) }
func (r *testRun) progress() run.Snapshot { return *r.latest.Load() }

// takenTask is a task of a chunk taken from the queue, with the chunk's lease.
type takenTask struct {
	task  queens.Task
	chunk uint64
	alone bool // the chunk has no other task
	lease run.Lease
}

// loan takes the next chunk from the queue.
func (r *testRun) loan(ctx context.Context) (run.Loan, error) {
	r.queue.Park(r.name)
	tick := time.NewTicker(100 * time.Millisecond) // the run's consumer may be made again
	defer tick.Stop()
	for {
		select {
		case l := <-r.queue.Parked():
			return l, nil
		case <-tick.C:
			r.queue.Park(r.name)
		case <-ctx.Done():
			return run.Loan{}, context.Cause(ctx)
		}
	}
}

// next takes the next task from the queue.
func (r *testRun) next() takenTask {
	r.t.Helper()
	if len(r.ready) == 0 {
		ctx, cancel := context.WithTimeout(r.t.Context(), testkit.Stall)
		defer cancel()
		l, err := r.loan(ctx)
		if err != nil {
			r.t.Fatalf("no task came in %v: %v; %d of %d tasks are done", testkit.Stall, err, r.progress().Done, r.tasks())
		}
		for i := range l.Chunk.Tasks {
			r.ready = append(r.ready, takenTask{l.Chunk.Task(i), l.Chunk.ID, len(l.Chunk.Tasks) == 1, l.Lease})
		}
	}
	next := r.ready[0]
	r.ready = r.ready[1:]
	return next
}

// take takes so many tasks from the queue, each once in each chunk, and none of the chunks taken before: on a
// slow machine their leases lapse, and they come again.
func (r *testRun) take(number int, before ...takenTask) []takenTask {
	r.t.Helper()
	var taken []takenTask
	for len(taken) < number {
		next := r.next()
		for _, d := range taken { // otherwise those that lapse keep the others from coming
			if err := d.lease.Extend(); err != nil {
				r.t.Fatal(err)
			}
		}
		if !slices.ContainsFunc(taken, func(d takenTask) bool { return d.task.ID == next.task.ID && d.chunk == next.chunk }) &&
			!slices.ContainsFunc(before, func(d takenTask) bool { return d.chunk == next.chunk }) {
			taken = append(taken, next)
		}
	}
	return taken
}

// serve works as an honest worker until the run ends. It calls each, unless nil, with
// every task.
func (r *testRun) serve(worker string, each func(queens.Task)) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	go func() { <-r.done; cancel() }()
	for {
		next, stop := context.WithTimeout(ctx, testkit.Stall)
		l, err := r.loan(next)
		stop()
		if err != nil {
			return
		}
		all := &run.ChunkResult{Run: r.name, Chunk: l.Chunk.ID, First: l.Chunk.First, Worker: worker}
		for i := range l.Chunk.Tasks {
			task := l.Chunk.Task(i)
			if each != nil {
				each(task)
			}
			one := r.result(takenTask{task: task, chunk: l.Chunk.ID, alone: true, lease: l.Lease}, worker)
			all.Counts = append(all.Counts, one.Counts...)
		}
		r.publish(all)
		_ = l.Lease.Ack(ctx) // if this fails, it comes again
	}
}

// result counts a task and returns what a worker of that name would publish.
// The result of one task of several names a chunk that this coordinator has not published: the others are not given back.
func (r *testRun) result(d takenTask, worker string) *run.ChunkResult {
	r.t.Helper()
	k, err := kernel.Choose("generic")
	if err != nil {
		r.t.Fatal(err)
	}
	n, err := kerneltest.NewCounter(r.t, k).Count(r.t.Context(), &d.task.Board, d.task.Prefixes, new(atomic.Uint64))
	if err != nil {
		r.t.Fatal(err)
	}
	result := &run.ChunkResult{
		Run: d.task.Run, Chunk: d.task.Hash() | 1, First: d.task.ID, Worker: worker,
		Counts: []run.TaskCount{{Hash: d.task.Hash(), Count: n, Kernel: k.Name}},
	}
	if d.alone {
		result.Chunk = d.chunk
	}
	return result
}

func (r *testRun) publish(result *run.ChunkResult) {
	r.t.Helper()
	r.seal(result)
	testkit.Eventually(r.t, "the server stores a result", func() bool { // on a slow machine a request may time out
		return r.bus.Results().Publish(r.t.Context(), result) == nil
	})
}

// seal signs a result as one of this run, with the key of the worker that it names.
func (r *testRun) seal(result *run.ChunkResult) *run.ChunkResult {
	if result.Manifest == (queens.ManifestHash{}) {
		result.Manifest = r.m.Hash
	}
	return identitytest.Seal(result)
}

// finished reports whether the run has ended.
func (r *testRun) finished() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// end waits for the run to end and returns its outcome. It fails the test if no task is
// done for [testkit.Stall].
func (r *testRun) end() (coordinator.Outcome, error) {
	r.t.Helper()
	for before := r.progress().Done; ; {
		select {
		case <-r.done:
			return r.got, r.err
		case <-time.After(testkit.Stall):
		}
		done := r.progress().Done
		if done == before {
			r.t.Fatalf("the run did not end: %d of %d tasks are done", done, r.tasks())
		}
		before = done
	}
}

// exact waits for the end and compares the total with the published one.
func (r *testRun) exact() coordinator.Outcome {
	r.t.Helper()
	got, err := r.end()
	if err != nil || got.Total == nil || got.Total.Cmp(r.cfg.Known) != 0 {
		r.t.Fatalf("total %v, error %v, want %v", got.Total, err, r.cfg.Known)
	}
	return got
}
