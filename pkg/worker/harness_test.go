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

// fixture is a running worker with a queue and a publisher under the test's control.
type fixture struct {
	queue     *fakeQueue
	publisher *fakePublisher
	live      func() error
	stop      func() // stops the worker and waits for it
}

func start(t *testing.T, threads int, search fakeSearch) *fixture {
	t.Helper()
	f := &fixture{queue: &fakeQueue{ready: make(chan loan, 100)}, publisher: new(fakePublisher)}
	w := worker.New(worker.Config{
		Name: "w", Version: "v", Kernel: fakeKernel(search), Threads: threads,
		Lease: leaseTime, Grace: grace, Log: zerolog.Nop(),
	}, f.queue, f.publisher, f.publisher)
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

// attempt returns the task with that attempt.
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

// fakeQueue lends the tasks that the test gives it.
type fakeQueue struct {
	ready chan loan
	taken atomic.Int32
}

type loan struct {
	task  queens.Task
	lease *fakeLease
}

func (q *fakeQueue) lend(task queens.Task) *fakeLease {
	return q.lendWith(new(fakeLease), task)
}

func (q *fakeQueue) lendWith(l *fakeLease, task queens.Task) *fakeLease {
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

// fakeLease records the calls of its methods.
type fakeLease struct {
	again    bool
	released func() // called by Release, unless nil
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

func (l *fakeLease) count(call string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if c == call {
			n++
		}
	}
	return n
}

func (l *fakeLease) Redelivered() bool         { return l.again }
func (l *fakeLease) Ack(context.Context) error { return l.record("acknowledged") }

func (l *fakeLease) Extend() error {
	err := l.record("extended")
	if l.extended != nil {
		l.extended()
	}
	return err
}

func (l *fakeLease) Release() error {
	err := l.record("released")
	if l.released != nil {
		l.released()
	}
	return err
}

// fakePublisher keeps results and heartbeats. It refuses results while refusal is set.
type fakePublisher struct {
	mu       sync.Mutex
	refusal  error
	results  []queens.Result
	storedAt time.Time
	beats    []run.Heartbeat
}

func (o *fakePublisher) refuse(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refusal = err
}

func (o *fakePublisher) Publish(_ context.Context, r *queens.Result) error {
	time.Sleep(time.Millisecond) // as long as a round trip to a server
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refusal != nil {
		return o.refusal
	}
	o.results, o.storedAt = append(o.results, *r), time.Now()
	return nil
}

func (o *fakePublisher) PublishHeartbeat(h run.Heartbeat) error {
	time.Sleep(time.Millisecond)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.beats = append(o.beats, h)
	return nil
}

// last returns the tasks in the last heartbeat, and the number of heartbeats.
func (o *fakePublisher) last() (held []run.ActiveTask, beats int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.beats[len(o.beats)-1].Held, len(o.beats)
}
