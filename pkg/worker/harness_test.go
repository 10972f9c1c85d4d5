package worker_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/worker"
)

const (
	leaseTime = 9 * time.Second // extended every 3 s
	grace     = time.Second
	roundTrip = time.Millisecond
)

// fixture is a running worker with queues and a publisher under the test's control. Run r sends
// announcements.
type fixture struct {
	queue     *fakeQueue
	publisher *fakePublisher
	telemetry *fakeTelemetry
	live      func() error
	status    func() run.Work
	stop      func() // stops the worker and waits for it
	cancel    func()
	ended     func() error // waits for the worker to end
}

func start(t *testing.T, threads int, search fakeSearch, changes ...func(*worker.Config)) *fixture {
	t.Helper()
	return startWith(t, threads, fakeKernel(t, search), changes...)
}

func startWith(t *testing.T, threads int, k kernel.Kernel, changes ...func(*worker.Config)) *fixture {
	t.Helper()
	f := newFixture()
	f.run(t, threads, k, changes...)
	f.announcements(t, "r", 1)
	return f
}

// newFixture returns a fixture whose worker is not started.
func newFixture() *fixture {
	q := newFakeQueue()
	return &fixture{queue: q, publisher: new(fakePublisher), telemetry: &fakeTelemetry{queue: q}}
}

// run starts the worker, and waits until it listens to announcements and has sent a heartbeat.
func (f *fixture) run(t *testing.T, threads int, k kernel.Kernel, changes ...func(*worker.Config)) {
	t.Helper()
	cfg := worker.Config{
		Name: "w", Identity: identitytest.Of("w"), Version: "v", Kernel: k, Threads: threads, Lease: leaseTime, Grace: grace, Log: zerolog.Nop(),
	}
	for _, change := range changes {
		change(&cfg)
	}
	w := worker.New(cfg, f.queue, f.publisher, f.telemetry)
	f.live, f.status = w.Live, w.Status
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	var err error
	go func() { defer close(done); err = w.Run(ctx) }()
	f.cancel = cancel
	f.ended = func() error {
		<-done
		if !f.queue.closed.Load() {
			t.Error("the worker has ended and not closed its queue")
		}
		if f.telemetry.subscribed() {
			t.Error("the worker has ended and is subscribed to announcements")
		}
		return err
	}
	f.stop = func() {
		cancel()
		if err := f.ended(); err != nil {
			t.Errorf("the worker ends with the error %v", err)
		}
	}
	for !f.telemetry.subscribed() {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(2 * roundTrip) // the first heartbeat
}

// announcements sends announcements of a running run until the end of the test or of the run. It returns a function that
// ends them.
func (f *fixture) announcements(t *testing.T, name string, weight int) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	send := func() {
		f.telemetry.send(run.Announcement{
			Run: name, Epoch: 1, State: run.Running, Weight: weight, Waiting: f.queue.count(name), Threads: 1,
		})
	}
	send()
	go func() {
		defer close(done)
		for tick := time.Tick(run.AnnouncementInterval); ; {
			select {
			case <-tick:
				send()
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// chunk returns a chunk of run r with that id and number of tasks.
func chunk(id uint64, tasks int) run.Chunk { return chunkOf("r", id, tasks) }

func chunkOf(name string, id uint64, tasks int) run.Chunk {
	return run.Chunk{
		Run: name, ID: id, Board: queens.FullBoard(4), First: id * 1000,
		Tasks: slices.Repeat([][]queens.Prefix{{{}}}, tasks),
	}
}

// fakeSearch stands for a kernel's Count.
type fakeSearch func(ctx context.Context, pulse *atomic.Uint64) (uint64, error)

func fakeKernel(t testing.TB, search fakeSearch) kernel.Kernel {
	return newFake(search).Kernel(t)
}

func newFake(search fakeSearch) *kerneltest.Fake {
	return &kerneltest.Fake{Count: func(ctx context.Context, _ *queens.Board, _ []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
		return search(ctx, pulse)
	}}
}

// counting returns a search that counts n at once.
func counting(n uint64) fakeSearch {
	return func(context.Context, *atomic.Uint64) (uint64, error) { return n, nil }
}

// lasting returns a search that takes d.
func lasting(d time.Duration) fakeSearch {
	return func(ctx context.Context, _ *atomic.Uint64) (uint64, error) {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(d):
			return 1, nil
		}
	}
}

// fakeQueue lends the chunks that the test gives it.
type fakeQueue struct {
	parked chan run.Loan
	closed atomic.Bool
	taken  atomic.Int32 // chunks

	mu       sync.Mutex
	waiting  map[string][]run.Loan
	pulls    map[string]bool   // parked
	endless  map[string]uint32 // runs that never end, and the columns of their prefixes
	lastID   uint64            // of endless runs
	refusal  error             // of Take
	lose     bool              // parked pulls get lost
	delay    time.Duration     // of Take
	requests []request
}

// request is a call of Take, or of Park with max 0.
type request struct {
	at  time.Time
	run string
	max int
}

func newFakeQueue() *fakeQueue {
	return &fakeQueue{
		parked: make(chan run.Loan, 100), waiting: make(map[string][]run.Loan), pulls: make(map[string]bool),
		endless: make(map[string]uint32), delay: roundTrip,
	}
}

func (q *fakeQueue) lend(c run.Chunk) *fakeLease { return q.lendWith(new(fakeLease), c) }

func (q *fakeQueue) lendWith(l *fakeLease, c run.Chunk) *fakeLease {
	q.mu.Lock()
	defer q.mu.Unlock()
	loan := run.Loan{Chunk: c, Lease: l}
	if q.pulls[c.Run] && !q.lose {
		delete(q.pulls, c.Run)
		q.taken.Add(1)
		q.parked <- loan
	} else {
		q.waiting[c.Run] = append(q.waiting[c.Run], loan)
	}
	return l
}

func (q *fakeQueue) count(name string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, endless := q.endless[name]; endless {
		return 1000
	}
	return len(q.waiting[name])
}

func (q *fakeQueue) set(change func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	change()
}

// since returns the requests from a time on.
func (q *fakeQueue) since(after time.Time) (list []request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.requests {
		if !r.at.Before(after) {
			list = append(list, r)
		}
	}
	return list
}

func (q *fakeQueue) note(name string, most int) {
	q.requests = append(q.requests, request{time.Now(), name, most})
}

func (q *fakeQueue) Take(ctx context.Context, name string, most int) (loans []run.Loan, err error) {
	q.mu.Lock()
	q.note(name, most)
	if q.refusal != nil {
		defer q.mu.Unlock()
		return nil, q.refusal
	}
	if columns, endless := q.endless[name]; endless {
		for range most {
			q.lastID++
			c := chunkOf(name, q.lastID, 1)
			c.Tasks[0] = []queens.Prefix{{Cols: columns}}
			loans = append(loans, run.Loan{Chunk: c, Lease: new(fakeLease), Queued: 1000})
		}
	} else {
		most = min(most, len(q.waiting[name]))
		loans = slices.Clone(q.waiting[name][:most])
		q.waiting[name] = q.waiting[name][most:]
		for i := range loans {
			loans[i].Queued = len(q.waiting[name]) + most - 1 - i
		}
	}
	q.taken.Add(int32(len(loans)))
	delay := q.delay
	q.mu.Unlock()
	time.Sleep(delay)
	return loans, nil
}

func (q *fakeQueue) Park(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.pulls[name] {
		return
	}
	q.note(name, 0)
	if waiting := q.waiting[name]; len(waiting) > 0 && !q.lose {
		q.taken.Add(1)
		q.parked <- waiting[0]
		q.waiting[name] = waiting[1:]
		return
	}
	q.pulls[name] = true
}

func (q *fakeQueue) Parked() <-chan run.Loan { return q.parked }

func (q *fakeQueue) Close() { q.closed.Store(true) }

// fakeLease records the calls of its methods.
type fakeLease struct {
	again    int
	released func() // called by Release and Postpone, unless nil
	extended func() // called by Extend, unless nil

	mu    sync.Mutex
	calls []string
	at    time.Time // of the last call
}

func (l *fakeLease) record(call string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls, l.at = append(l.calls, call), time.Now()
	return nil
}

// all returns the calls.
func (l *fakeLease) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

func (l *fakeLease) count(call string) (n int) {
	for _, c := range l.all() {
		if c == call {
			n++
		}
	}
	return n
}

// want checks the calls other than extensions.
func (l *fakeLease) want(t *testing.T, what string, calls ...string) {
	t.Helper()
	got := slices.DeleteFunc(l.all(), func(call string) bool { return call == "extended" })
	if !slices.Equal(got, calls) {
		t.Errorf("%s: the lease was %q, want %q", what, got, calls)
	}
}

func (l *fakeLease) Redelivered() int          { return l.again }
func (l *fakeLease) Ack(context.Context) error { return l.record("acknowledged") }

func (l *fakeLease) Extend() error {
	err := l.record("extended")
	if l.extended != nil {
		l.extended()
	}
	return err
}

func (l *fakeLease) Release() error { return l.back("released") }

func (l *fakeLease) Postpone(delay time.Duration) error {
	return l.back(fmt.Sprint("postponed ", delay))
}

func (l *fakeLease) back(call string) error {
	err := l.record(call)
	if l.released != nil {
		l.released()
	}
	return err
}

// fakePublisher keeps results. It refuses them while refusal is set.
type fakePublisher struct {
	mu       sync.Mutex
	refusal  error
	results  []run.ChunkResult
	storedAt time.Time
	attempts int
}

func (o *fakePublisher) refuse(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refusal = err
}

func (o *fakePublisher) Publish(_ context.Context, r *run.ChunkResult) error {
	time.Sleep(roundTrip)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.attempts++
	if o.refusal != nil {
		return o.refusal
	}
	if err := r.Validate(); err != nil {
		return fmt.Errorf("the test refuses this result: %w", err)
	}
	o.results, o.storedAt = append(o.results, *r), time.Now()
	return nil
}

// tried returns the number of attempts to store a result.
func (o *fakePublisher) tried() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.attempts
}

// stored returns the number of results.
func (o *fakePublisher) stored() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.results)
}

// fakeTelemetry keeps heartbeats and passes announcements on.
type fakeTelemetry struct {
	queue *fakeQueue

	mu           sync.Mutex
	each         func(run.Announcement)
	disconnected error
	refusal      error // of SubscribeAnnouncements
	early        bool  // a heartbeat came before the subscription
	heartbeats   []run.Heartbeat
	times        []time.Time
}

func (o *fakeTelemetry) PublishHeartbeat(h run.Heartbeat, by run.Signer) error {
	h.Key = by.Key()
	time.Sleep(roundTrip)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.early = o.early || o.each == nil && !h.Leaving
	o.heartbeats, o.times = append(o.heartbeats, h), append(o.times, time.Now())
	return nil
}

func (o *fakeTelemetry) SubscribeAnnouncements(each func(run.Announcement)) (func(), error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refusal != nil {
		return nil, o.refusal
	}
	o.each = each
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.each = nil
	}, nil
}

func (o *fakeTelemetry) subscribed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.each != nil
}

func (o *fakeTelemetry) Connected() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.disconnected
}

// disconnect sets the error of Connected. Without a connection no announcement arrives.
func (o *fakeTelemetry) disconnect(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.disconnected = err
}

// send passes an announcement to the worker.
func (o *fakeTelemetry) send(b run.Announcement) {
	b.Epoch = cmp.Or(b.Epoch, 1)
	o.mu.Lock()
	each := o.each
	if o.disconnected != nil {
		each = nil
	}
	o.mu.Unlock()
	if each != nil {
		each(b)
	}
}

// last returns the chunks in the last heartbeat, and the number of heartbeats.
func (o *fakeTelemetry) last() (held []run.HeldChunk, heartbeats int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.heartbeats[len(o.heartbeats)-1].Held, len(o.heartbeats)
}
