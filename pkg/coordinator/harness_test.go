package coordinator_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// checkAfter and lease make in tests happen soon what takes seconds otherwise.
const (
	overdue = 300 * time.Millisecond
	lease   = time.Second
)

var errStopped = errors.New("stopped by the test")

// testRun is a coordinator at work through a real server, and a worker's hands to do
// right or wrong by it.
type testRun struct {
	t      *testing.T
	name   string
	m      queens.Manifest
	folder string // of the ledger
	cfg    coordinator.Config
	ledger *ledger.Ledger
	claim  *claim
	bus    *bus.Bus
	admin  jetstream.JetStream
	queue  *bus.Queue
	cancel func()
	log    *syncBuffer

	latest atomic.Pointer[run.Progress]
	done   chan struct{}
	got    coordinator.Outcome
	err    error
}

// start starts a run of board side n.
func start(t *testing.T, n int, change func(*coordinator.Config)) *testRun {
	t.Helper()
	server := bustest.Server(t)
	log := new(syncBuffer)
	logger := zerolog.New(log)
	b := bustest.Connect(t, server, func(c *bus.Config) { c.Lease, c.Log = lease, logger })
	_, admin := bustest.Admin(t, server)
	if err := b.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
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
		t: t, name: run.NewName(n, time.Now()), m: m, folder: t.TempDir(), claim: new(claim),
		bus: b, admin: admin, queue: b.Queue(), log: log,
	}
	r.cfg = coordinator.Config{
		Known:          known,
		Roster:         progress.NewRoster(),
		CheckAfter:     overdue,
		RepublishAfter: time.Hour,
		DisputeTimeout: overdue,
		OnProgress:     func(s run.Progress) { r.latest.Store(&s) },
		ReportEvery:    10 * time.Millisecond,
		Log:            logger,
	}
	if change != nil {
		change(&r.cfg)
	}
	if r.ledger, err = ledger.Create(r.folder, ledger.Header{Run: r.name, Created: time.Now(), Manifest: m}); err != nil {
		t.Fatal(err)
	}
	r.begin()
	return r
}

// load starts a coordinator with the ledger as it is.
func (r *testRun) begin() {
	r.t.Helper()
	r.latest.Store(new(run.Progress))
	r.done = make(chan struct{})
	c, err := coordinator.New(r.cfg, r.bus.Tasks(), r.bus.Results(), r.claim, r.ledger)
	if err != nil {
		r.t.Fatal(err)
	}
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

// retryQueue stops the coordinator, as if it had died, and starts another on its ledger.
func (r *testRun) again() {
	r.t.Helper()
	r.cancel()
	<-r.done
	r.resume()
}

// resume starts a coordinator on the ledger that another has left.
func (r *testRun) resume() {
	r.t.Helper()
	var err error
	if r.ledger, err = ledger.Open(r.t.Context(), r.folder); err != nil {
		r.t.Fatal(err)
	}
	r.begin()
}

// claim is a hold on the run that is lost when the test says so.
type claim struct{ lost atomic.Pointer[error] }

func (c *claim) Renew(context.Context, run.State, uint64) error {
	if err := c.lost.Load(); err != nil {
		return *err
	}
	return nil
}

func (r *testRun) tasks() int             { return int(r.m.Tasks) }
func (r *testRun) progress() run.Progress { return *r.latest.Load() }

// delivery is a task taken, and the hold on it.
type delivery struct {
	task  queens.Task
	lease run.Lease
}

// republishAfter bounds every wait of a test. It is long, for busy machines and the race detector:
// where nothing is wrong nobody waits for its end.
const patience = time.Minute

// minWindow is the least number of tasks that are out at once.
const minWindow = 64

// take takes so many tasks off the queue.
func (r *testRun) take(number int) []delivery {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	var taken []delivery
	for len(taken) < number {
		task, lease, err := r.queue.Next(ctx)
		if err != nil {
			r.t.Fatalf("took %d of %d tasks: %v", len(taken), number, err)
		}
		// On a slow machine the first leases lapse before the last task is taken.
		if !slices.ContainsFunc(taken, func(d delivery) bool { return d.task.ID == task.ID && d.task.Attempt == task.Attempt }) {
			taken = append(taken, delivery{task, lease})
		}
	}
	return taken
}

// serve works as an honest worker until the run ends.
func (r *testRun) serve(worker string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	go func() { <-r.done; cancel() }()
	for {
		task, lease, err := r.queue.Next(ctx)
		if err != nil {
			return
		}
		r.publish(r.result(delivery{task, lease}, worker))
	}
}

// lastTask returns the task of the highest id.
func (r *testRun) lastTask() queens.Task {
	var last queens.Task
	for task := range split.Tasks(&r.m) {
		last = task
	}
	return last
}

// result counts a task and returns what a worker of that name would publish.
func (r *testRun) result(d delivery, worker string) *queens.Result {
	r.t.Helper()
	k, err := kernel.Choose("generic")
	if err != nil {
		r.t.Fatal(err)
	}
	n, err := k.New().Count(r.t.Context(), &d.task.Board, d.task.Prefixes, new(atomic.Uint64))
	if err != nil {
		r.t.Fatal(err)
	}
	return &queens.Result{
		Run: d.task.Run, Task: d.task.ID, Hash: d.task.Hash(), Attempt: d.task.Attempt,
		Count: n, Worker: worker, Kernel: k.Name,
	}
}

func (r *testRun) publish(result *queens.Result) {
	r.t.Helper()
	if err := r.bus.Results().Publish(r.t.Context(), result); err != nil {
		r.t.Fatal(err)
	}
}

// until waits for a condition that the log or the progress will show.
func (r *testRun) until(what string, holds func(log string) bool) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for !holds(r.log.String()) {
		if time.Now().After(deadline) {
			r.t.Fatalf("waited %v for %s; log:\n%s", patience, what, r.log)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// finished waits for the run to end, no longer than given.
func (r *testRun) finished(within time.Duration) bool {
	select {
	case <-r.done:
		return true
	case <-time.After(within):
		return false
	}
}

// end waits for the run to end and returns what it came to.
func (r *testRun) end() (coordinator.Outcome, error) {
	r.t.Helper()
	if !r.finished(patience) {
		r.t.Fatalf("the run did not end in %v: %d of %d tasks are done; log:\n%s", patience, r.progress().Done, r.tasks(), r.log)
	}
	return r.got, r.err
}

// exact waits for the end and checks the total against the known one.
func (r *testRun) exact() coordinator.Outcome {
	r.t.Helper()
	got, err := r.end()
	if err != nil || got.Total == nil || got.Total.Cmp(r.cfg.Known) != 0 {
		r.t.Fatalf("total %v, error %v, want %v; log:\n%s", got.Total, err, r.cfg.Known, r.log)
	}
	return got
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
