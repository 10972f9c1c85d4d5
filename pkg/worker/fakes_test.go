package worker_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/worker"
)

// fixture is a worker at work between a queue and an outbox that do as told.
type fixture struct {
	queue  *fakeQueue
	outbox *fakeOutbox
	live   func() error
	stop   func() // tells the worker to stop, and waits for it
}

func begin(t *testing.T, threads int, search fakeSearch) *fixture {
	t.Helper()
	f := &fixture{queue: &fakeQueue{ready: make(chan loan, 100)}, outbox: new(fakeOutbox)}
	w, err := worker.New(worker.Config{
		Name: "w", Version: "v", Kernel: fakeKernel(search), Threads: threads,
		Lease: leaseTime, Grace: grace, Log: zerolog.Nop(),
	}, f.queue, f.outbox, f.outbox)
	if err != nil {
		t.Fatal(err)
	}
	f.live = w.Live
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	f.stop = func() { cancel(); <-done }
	return f
}

func task(id uint64) queens.Task {
	return queens.Task{Run: "r", ID: id, Attempt: 3, Board: queens.FullBoard(4), Prefixes: []queens.Prefix{{}}}
}

// attempt is the task, published for the so many'th time.
func attempt(number uint32, task queens.Task) queens.Task {
	task.Attempt = number
	return task
}

// fakeSearch stands for a kernel's Count.
type fakeSearch func(ctx context.Context, pulse *atomic.Uint64) (uint64, error)

func fakeKernel(search fakeSearch) kernel.Kernel {
	return kernel.Kernel{Name: "fake", New: func() kernel.Counter { return search }}
}

func (s fakeSearch) Count(ctx context.Context, _ *queens.Board, _ []queens.Prefix, pulse *atomic.Uint64) (uint64, error) {
	return s(ctx, pulse)
}

// counting returns a search that finds so many at once.
func counting(n uint64) fakeSearch {
	return func(context.Context, *atomic.Uint64) (uint64, error) { return n, nil }
}

// lasting returns a search that takes so long.
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

// fakeQueue lends what the test gives it.
type fakeQueue struct {
	ready chan loan
	taken atomic.Int32
}

type loan struct {
	task  queens.Task
	lease *fakeLease
}

func (q *fakeQueue) lend(task queens.Task) *fakeLease {
	return q.lendUnder(new(fakeLease), task)
}

func (q *fakeQueue) lendUnder(l *fakeLease, task queens.Task) *fakeLease {
	q.ready <- loan{task, l}
	return l
}

func (q *fakeQueue) Next(ctx context.Context) (queens.Task, run.Lease, error) {
	select {
	case l := <-q.ready:
		q.taken.Add(1)
		return l.task, l.lease, nil
	case <-ctx.Done():
		return queens.Task{}, nil, context.Cause(ctx)
	}
}

// fakeLease notes what is done with it. The test reads it when nothing runs.
type fakeLease struct {
	again    bool
	returned func() // Return calls it, where it is set
	extended func() // Extend does

	mu    sync.Mutex
	deeds []string
	at    time.Time // of the last deed
}

func (l *fakeLease) note(deed string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deeds, l.at = append(l.deeds, deed), time.Now()
	return nil
}

func (l *fakeLease) count(deed string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.deeds {
		if d == deed {
			n++
		}
	}
	return n
}

func (l *fakeLease) Redelivered() bool         { return l.again }
func (l *fakeLease) Ack(context.Context) error { return l.note("done") }

func (l *fakeLease) Extend() error {
	err := l.note("extended")
	if l.extended != nil {
		l.extended()
	}
	return err
}

func (l *fakeLease) Release() error {
	err := l.note("returned")
	if l.returned != nil {
		l.returned()
	}
	return err
}

// fakeOutbox keeps what it is given, or refuses it.
type fakeOutbox struct {
	mu       sync.Mutex
	refusal  error
	results  []queens.Result
	storedAt time.Time
	beats    []run.Heartbeat
}

func (o *fakeOutbox) refuse(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refusal = err
}

func (o *fakeOutbox) Publish(_ context.Context, r *queens.Result) error {
	time.Sleep(time.Millisecond) // an exchange with a server takes time
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refusal != nil {
		return o.refusal
	}
	o.results, o.storedAt = append(o.results, *r), time.Now()
	return nil
}

func (o *fakeOutbox) PublishHeartbeat(h run.Heartbeat) error {
	time.Sleep(time.Millisecond)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.beats = append(o.beats, h)
	return nil
}

// last returns the tasks that the last heartbeat names, and the number of heartbeats.
func (o *fakeOutbox) last() (held []run.ActiveTask, beats int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.beats[len(o.beats)-1].Held, len(o.beats)
}
