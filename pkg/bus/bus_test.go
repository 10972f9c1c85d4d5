package bus_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// The names on the server.
const (
	tasks   = "NQ_TASKS"
	results = "NQ_RESULTS"
	workers = "workers"
)

// scene is a server with its streams, a bus, a second bus for another process, and the
// connection of an operator's tools.
type scene struct {
	server     *natsserver.Server
	bus, other *bus.Bus
	conn       *nats.Conn
	js         jetstream.JetStream
}

func newScene(t *testing.T, changes ...func(*bus.Config)) *scene {
	t.Helper()
	s := &scene{server: bustest.Server(t)}
	s.bus, s.other = bustest.Connect(t, s.server, changes...), bustest.Connect(t, s.server, changes...)
	s.conn, s.js = bustest.Admin(t, s.server)
	ensure(t, s.bus)
	return s
}

// listeningServer starts a server with a port, and returns with it a function that restarts
// it on the same port and store.
func listeningServer(t *testing.T) (server *natsserver.Server, restart func()) {
	t.Helper()
	cfg := natsserver.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Log: zerolog.Nop()}
	server = bustest.Start(t, cfg)
	cfg.Listen = strings.TrimPrefix(server.ClientURL(), "nats://")
	return server, func() {
		server.Stop()
		bustest.Start(t, cfg)
	}
}

// connectTo connects to a server as another process would.
func connectTo(t *testing.T, server *natsserver.Server) *bus.Bus {
	t.Helper()
	b, err := bus.Connect(bus.Config{URL: server.ClientURL(), Lease: bus.DefaultLease, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func lease(d time.Duration) func(*bus.Config) {
	return func(cfg *bus.Config) { cfg.Lease = d }
}

func logTo(log *bustest.Log) func(*bus.Config) {
	return func(cfg *bus.Config) { cfg.Log = log.Logger() }
}

func ensure(t *testing.T, b *bus.Bus) {
	t.Helper()
	if err := b.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// delete deletes a stream.
func (s *scene) delete(t *testing.T, stream string) {
	t.Helper()
	if err := s.js.DeleteStream(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
}

// ensureAgain creates what was deleted. One time in some hundreds, the server (2.15) still
// removes the old files, and fails.
func ensureAgain(t *testing.T, b *bus.Bus) {
	t.Helper()
	testkit.Eventually(t, "what was deleted can be created again", func() bool {
		return b.Ensure(t.Context()) == nil
	})
}

// within returns a context that ends after d, or with the test.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// task returns a valid task.
func task(run string, id uint64) queens.Task {
	board := queens.FullBoard(8)
	return queens.Task{Run: run, ID: id, Attempt: 1, Board: board, Prefixes: []queens.Prefix{
		queens.Prefix{}.Place(&board, 1<<(id%8)),
		queens.Prefix{}.Place(&board, 1<<((id+1)%8)),
	}}
}

func result(run string, id uint64) queens.Result {
	return queens.Result{Run: run, Task: id, Hash: 1, Attempt: 1, Count: 4, Worker: "w", Kernel: "generic"}
}

func publishTask(t *testing.T, b *bus.Bus, task queens.Task) (sequence uint64) {
	t.Helper()
	sequence, err := b.Tasks().Publish(t.Context(), &task)
	if err != nil {
		t.Fatal(err)
	}
	return sequence
}

func publishResult(t *testing.T, b *bus.Bus, r queens.Result) {
	t.Helper()
	if err := b.Results().Publish(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
}

// queue returns a queue that is drained when the test ends.
func queue(t *testing.T, b *bus.Bus) *bus.Queue {
	q := b.Queue()
	t.Cleanup(func() {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		for {
			if _, _, err := q.Next(over); err != nil {
				return
			}
		}
	})
	return q
}

// take takes the next task.
func take(t *testing.T, q *bus.Queue) (queens.Task, run.Lease) {
	t.Helper()
	task, lease, err := q.Next(within(t, testkit.Stall))
	if err != nil {
		t.Fatalf("no task: %v", err)
	}
	return task, lease
}

// follow takes one task after the other until the test ends.
func follow(t *testing.T, q *bus.Queue) <-chan queens.Task {
	ctx, stop := context.WithCancel(t.Context())
	taken, ended := make(chan queens.Task, 100), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			task, _, err := q.Next(ctx)
			if err != nil {
				return
			}
			taken <- task
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return taken
}

// receive returns the next value from a channel.
func receive[T any](t *testing.T, from <-chan T, what string) (next T) {
	t.Helper()
	select {
	case next = <-from:
	case <-time.After(testkit.Stall):
		t.Fatalf("not within %v: %s", testkit.Stall, what)
	}
	return next
}

// raw stores a message that this program would not send.
func (s *scene) raw(t *testing.T, subject string, data []byte) {
	t.Helper()
	if _, err := s.js.Publish(t.Context(), subject, data); err != nil {
		t.Fatal(err)
	}
}

func otherVersion(t *testing.T) []byte {
	t.Helper()
	data, err := proto.Marshal(&nqueensv1.Task{Protocol: bus.Protocol + 1, Run: "n8-a"})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// stored returns the number of messages in the stream with that subject.
func (s *scene) stored(t *testing.T, stream, subject string) uint64 {
	t.Helper()
	return s.stream(t, stream, jetstream.WithSubjectFilter(subject)).State.Subjects[subject]
}

func (s *scene) stream(t *testing.T, name string, options ...jetstream.StreamInfoOpt) *jetstream.StreamInfo {
	t.Helper()
	stream, err := s.js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func (s *scene) consumer(t *testing.T) *jetstream.ConsumerInfo {
	t.Helper()
	consumer, err := s.js.Consumer(t.Context(), tasks, workers)
	if err != nil {
		t.Fatal(err)
	}
	return consumer.CachedInfo()
}

// watch returns the messages on a subject from now on, including requests to the server.
func (s *scene) watch(t *testing.T, subject string) <-chan *nats.Msg {
	t.Helper()
	sent := make(chan *nats.Msg, 1000)
	if _, err := s.conn.ChanSubscribe(subject, sent); err != nil {
		t.Fatal(err)
	}
	if err := s.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	return sent
}

// waiting waits until one queue waits at the server.
func (s *scene) waiting(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "a queue waits at the server", func() bool {
		return s.consumer(t).NumWaiting == 1
	})
}
