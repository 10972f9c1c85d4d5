package bus_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/testkit"
)

// A worker may come before any coordinator: it waits, says so, and does not go on
// saying so.
func TestNextWaitsForTheStreams(t *testing.T) {
	t.Parallel()
	var log bustest.Log
	s := &scene{server: bustest.Server(t)}
	s.conn, s.js = bustest.Admin(t, s.server)
	looks := s.watch(t, "$JS.API.CONSUMER.INFO."+tasks+"."+workers)
	early := bustest.Connect(t, s.server, logTo(&log))
	taken := follow(t, queue(t, early))
	for range 3 {
		receive(t, looks, 5*time.Second, "another look")
	}
	if lines := log.Lines(""); len(lines) != 1 || !strings.Contains(lines[0], "waiting") || !strings.Contains(lines[0], "stream not found") {
		t.Errorf("after looking 3 times it has logged %q, want that it waits, and for what, once", lines)
	}
	late := bustest.Connect(t, s.server)
	ensure(t, late)
	publishTask(t, late, task("n8-a", 7))
	check(t, "the task that comes", receive(t, taken, 5*time.Second, "a task").ID, 7)
	check(t, "messages refused", early.Rejected(), 0)
}

// What an operator deletes and a coordinator makes anew is found again, whatever
// the queue was doing.
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
			check(t, "the task that comes", receive(t, taken, 10*time.Second, "a task").ID, 7)
		})
	}
	t.Run("stream deleted while the queue rests", func(t *testing.T) {
		t.Parallel()
		var log bustest.Log
		s := newScene(t, logTo(&log))
		queue := queue(t, s.bus)
		publishTask(t, s.other, task("n8-a", 6))
		_, lease := take(t, queue, 5*time.Second)
		if err := lease.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.delete(t, tasks)
		taken := follow(t, queue) // asks where nobody answers
		testkit.Eventually(t, "a log line that it waits", func() bool {
			return len(log.Lines("waiting")) == 1
		})
		ensureAgain(t, s.other)
		publishTask(t, s.other, task("n8-a", 7))
		check(t, "the task that comes", receive(t, taken, 10*time.Second, "a task").ID, 7)
		check(t, "log lines", len(log.Lines("")), 2) // that nobody answers, then that it waits
	})
}

// A server that dies and comes back finds its workers waiting, still has what was
// stored, and knows who holds what.
func TestNextSurvivesTheServersRestart(t *testing.T) {
	t.Parallel()
	server, restart := listeningServer(t)
	b := connectTo(t, server)
	ensure(t, b)
	queue := queue(t, b)
	publishTask(t, b, task("n8-a", 6))
	_, lease := take(t, queue, 5*time.Second)
	publishTask(t, b, task("n8-a", 7))
	restart()
	taken := follow(t, queue)
	check(t, "the task that comes", receive(t, taken, 20*time.Second, "the stored task").ID, 7)
	if err := lease.Ack(t.Context()); err != nil {
		t.Errorf("the task taken before can't be given up: %v", err)
	}
	publishTask(t, b, task("n8-a", 8))
	check(t, "the task that comes", receive(t, taken, 5*time.Second, "a new task").ID, 8)
}

// A worker that waits for its server takes tasks as soon as there is one.
func TestNextWaitsForTheServer(t *testing.T) {
	t.Parallel()
	var log bustest.Log
	address := freeAddress(t)
	early, err := bus.Connect(bus.Config{URL: "nats://" + address, Wait: true, Lease: bus.DefaultLease, Log: log.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(early.Close)
	check(t, "log lines that say so", len(log.Lines("server not reachable yet")), 1)
	taken := follow(t, queue(t, early))
	late := bustest.Connect(t, bustest.Start(t, natsserver.Config{StoreDir: t.TempDir(), Listen: address, Log: zerolog.Nop()}))
	ensure(t, late)
	publishTask(t, late, task("n8-a", 7))
	check(t, "the task that comes", receive(t, taken, 20*time.Second, "a task").ID, 7)
}
