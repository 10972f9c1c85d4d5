package bus_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

// The names of runs that are not valid, as of a hostile announcement, are ignored, and an error of Take.
func TestParkIgnoresInvalidNames(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	requests := s.watch(t, "$JS.API.CONSUMER.MSG.NEXT.>")
	q := queue(t, s.bus)
	for _, name := range []string{"", "*", ">", "a.b", "a b"} {
		q.Park(name)
		if _, err := q.Take(t.Context(), name, 1); err == nil {
			t.Errorf("chunks of a run named %q can be taken", name)
		}
	}
	q.Park("n8-a")
	check(t, "the request", receive(t, requests, "a request").Subject, "$JS.API.CONSUMER.MSG.NEXT.NQ_TASKS.n8-a")
	check(t, "further requests", len(requests), 0)
}

// If a run is removed, the parked request ends; Park works again when the run is back.
func TestParkAfterARunWasRemoved(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	q := queue(t, s.other)
	q.Park("n8-a")
	s.waiting(t, "n8-a")
	if err := s.bus.Tasks().Remove(t.Context(), "n8-a"); err != nil {
		t.Fatal(err)
	}
	q.Park("n8-a") // ends at once, if the other has ended
	ensureAgain(t, s.bus)
	testkit.Eventually(t, "a request waits again", func() bool {
		q.Park("n8-a")
		return s.consumer(t, "n8-a").NumWaiting == 1
	})
	publish(t, s.bus, chunk("n8-a", 7))
	check(t, "the chunk that comes", receive(t, q.Parked(), "a chunk").Chunk.ID, 7)
}

// A parked request of a connection that was lost counts no more.
func TestParkAfterAServerRestart(t *testing.T) {
	t.Parallel()
	server, restart := listeningServer(t)
	b := connectTo(t, server)
	ensure(t, b)
	q := queue(t, b)
	q.Park("n8-a")
	publish(t, b, chunk("n8-a", 6))
	held := receive(t, q.Parked(), "a chunk")
	q.Park("n8-a")
	restart()
	publish(t, connectTo(t, server), chunk("n8-a", 7))
	testkit.Eventually(t, "a chunk comes", func() bool {
		q.Park("n8-a") // the connection may not have ended yet
		return len(q.Parked()) > 0
	})
	check(t, "the chunk that comes", receive(t, q.Parked(), "a chunk").Chunk.ID, 7)
	// A lease survives the restart.
	if err := held.Lease.Ack(t.Context()); err != nil {
		t.Errorf("ack of the chunk taken before: %v", err)
	}
}

// A chunk that is sent to a worker while it leaves goes to another worker at once, not only
// after its lease has lapsed.
func TestChunksSentToALeavingWorkerAreRedelivered(t *testing.T) {
	t.Parallel()
	const seed, rounds = 8, 40
	rng := rand.New(rand.NewPCG(seed, 0))
	s := newScene(t, lease(time.Hour))
	successor := queue(t, s.other)
	for round := range uint64(rounds) {
		leaving := s.bus.Queue()
		leaving.Park("n8-a")
		s.waiting(t, "n8-a")
		delay := time.Duration(rng.IntN(250)) * time.Microsecond
		ended := make(chan struct{})
		time.AfterFunc(delay, func() {
			leaving.Close()
			close(ended)
		})
		publish(t, s.other, chunk("n8-a", round+1))
		<-ended
		loan := take(t, successor)
		check(t, "the chunk that comes", loan.Chunk.ID, round+1)
		if err := loan.Lease.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
