package bus_test

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/testkit"
)

// A worker may start before any coordinator: it waits, and logs so once.
func TestNextWaitsForTheStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	var log bustest.Log
	s := &scene{server: bustest.Server(t)}
	s.conn, s.js = bustest.Admin(t, s.server)
	lookups := s.watch(t, "$JS.API.CONSUMER.INFO."+tasks+"."+workers)
	early := bustest.Connect(t, s.server, logTo(&log))
	taken := follow(t, queue(t, early))
	for range 3 {
		receive(t, lookups, "another lookup")
	}
	if lines := log.Lines(""); len(lines) != 1 || !strings.Contains(lines[0], "waiting") || !strings.Contains(lines[0], "stream not found") {
		t.Errorf("after 3 lookups it has logged %q, want once that it waits and for what", lines)
	}
	late := bustest.Connect(t, s.server)
	ensure(t, late)
	publishTask(t, late, task("n8-a", 7))
	check(t, "the task that comes", receive(t, taken, "a task").ID, 7)
	check(t, "rejected messages", early.Rejected(), 0)
}

// The queue finds a stream or consumer that was deleted and created again.
func TestNextSurvivesDeletion(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*testing.T, *scene){
		"consumer": func(t *testing.T, s *scene) {
			if err := s.js.DeleteConsumer(t.Context(), tasks, workers); err != nil {
				t.Fatal(err)
			}
		},
		"stream": func(t *testing.T, s *scene) { s.delete(t, tasks) },
	} {
		t.Run(name+" deleted while the queue waits", func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			taken := follow(t, queue(t, s.bus))
			s.waiting(t)
			remove(t, s)
			ensureAgain(t, s.other)
			publishTask(t, s.other, task("n8-a", 7))
			check(t, "the task that comes", receive(t, taken, "a task").ID, 7)
		})
	}
	t.Run("stream deleted while the queue is idle", func(t *testing.T) {
		t.Parallel()
		var log bustest.Log
		s := newScene(t, logTo(&log))
		queue := queue(t, s.bus)
		publishTask(t, s.other, task("n8-a", 6))
		_, lease := take(t, queue)
		if err := lease.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.delete(t, tasks)
		taken := follow(t, queue) // requests from a stream that does not exist
		testkit.Eventually(t, "a log line that it waits", func() bool {
			return len(log.Lines("waiting")) == 1
		})
		ensureAgain(t, s.other)
		publishTask(t, s.other, task("n8-a", 7))
		check(t, "the task that comes", receive(t, taken, "a task").ID, 7)
		check(t, "log lines", len(log.Lines("")), 2) // that the queue does not answer, then that it waits
	})
}

// After a restart, a server still has its tasks and leases, and its workers reconnect.
func TestNextSurvivesAServerRestart(t *testing.T) {
	t.Parallel()
	server, restart := listeningServer(t)
	b := connectTo(t, server)
	ensure(t, b)
	queue := queue(t, b)
	publishTask(t, b, task("n8-a", 6))
	_, lease := take(t, queue)
	publishTask(t, b, task("n8-a", 7))
	restart()
	taken := follow(t, queue)
	check(t, "the task that comes", receive(t, taken, "the stored task").ID, 7)
	if err := lease.Ack(t.Context()); err != nil {
		t.Errorf("ack of the task taken before: %v", err)
	}
	publishTask(t, b, task("n8-a", 8))
	check(t, "the task that comes", receive(t, taken, "a new task").ID, 8)
}

// A worker that started before its server takes tasks when the server is there.
func TestNextWaitsForTheServer(t *testing.T) {
	t.Parallel()
	var log bustest.Log
	address := freeAddress(t)
	early, err := bus.Connect(bus.Config{URL: "nats://" + address, Wait: true, Lease: bus.DefaultLease, Log: log.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(early.Close)
	check(t, "log lines about the server", len(log.Lines("server not reachable yet")), 1)
	taken := follow(t, queue(t, early))
	late := bustest.Connect(t, bustest.Start(t, natsserver.Config{StoreDir: t.TempDir(), Listen: address, Log: zerolog.Nop()}))
	ensure(t, late)
	publishTask(t, late, task("n8-a", 7))
	check(t, "the task that comes", receive(t, taken, "a task").ID, 7)
}
