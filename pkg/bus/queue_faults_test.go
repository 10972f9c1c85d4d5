package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/testkit"
)

// A queue finds a stream or consumer that was deleted and created again.
func TestTakeSurvivesDeletion(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*testing.T, *scene){
		"consumer": func(t *testing.T, s *scene) {
			if err := s.js.DeleteConsumer(t.Context(), tasks, "n8-a"); err != nil {
				t.Fatal(err)
			}
		},
		"stream": func(t *testing.T, s *scene) { s.delete(t, tasks) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			q := queue(t, s.bus)
			takeAll(t, q, "n8-a", 1)
			remove(t, s)
			check(t, "chunks without it", len(takeAll(t, q, "n8-a", 1)), 0)
			ensureAgain(t, s.other)
			publish(t, s.other, chunk("n8-a", 7))
			check(t, "the chunk that comes", take(t, q).Chunk.ID, 7)
		})
	}
}

// Close does not wait for a server that is away: a worker that is stopped then ends soon.
func TestCloseWithoutTheServer(t *testing.T) {
	t.Parallel()
	server, _ := listeningServer(t)
	b := connectTo(t, server)
	ensure(t, b)
	var queues []*bus.Queue
	for range 3 {
		q := queue(t, b)
		takeAll(t, q, "n8-a", 1)
		q.Park("n8-a")
		queues = append(queues, q)
	}
	server.Stop()
	testkit.Eventually(t, "the connection is lost", func() bool { return b.Connected() != nil })
	least := time.Hour // this machine may stall
	for _, q := range queues {
		begun := time.Now()
		q.Close()
		least = min(least, time.Since(begun))
	}
	if least > 4*time.Second { // the timeout is 5 seconds
		t.Errorf("it took %v", least)
	}
}

// A worker that started before its server takes chunks when the server is there.
func TestTakeWorksOnceTheServerIsThere(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	address := testkit.Address(t)
	early, err := bus.Connect(bus.Config{URL: "nats://" + address, Wait: true, Lease: bus.DefaultLease, Log: log.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(early.Close)
	check(t, "log lines about the server", len(log.Lines("server not reachable yet")), 1)
	q := queue(t, early)
	if _, err := q.Take(t.Context(), "n8-a", 1); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a server, Take waits for it: error %v", err)
	}
	late := bustest.Connect(t, bustest.Start(t, natsserver.Config{StoreDir: t.TempDir(), Listen: address, Log: zerolog.Nop()}))
	ensure(t, late)
	publish(t, late, chunk("n8-a", 7))
	check(t, "the chunk that comes", take(t, q).Chunk.ID, 7)
}
