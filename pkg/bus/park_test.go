package bus_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

// A parked request brings a chunk that is published later, and one only. There is one request
// a run at a time, however often Park is called.
func TestParkBringsOneChunk(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	q := queue(t, s.other)
	for range 5 {
		q.Park("n8-a")
		q.Park("n8-b")
	}
	s.waiting(t, "n8-a")
	s.waiting(t, "n8-b")
	for id := range uint64(3) {
		publish(t, s.bus, chunk("n8-a", id+1))
	}
	check(t, "the chunk that comes", receive(t, q.Parked(), "a chunk").Chunk.ID, 1)
	s.known(t, "n8-a", 3)
	check(t, "chunks left", len(takeAll(t, q, "n8-a", 10)), 2)
	q.Park("n8-a")
	s.waiting(t, "n8-a")
	publish(t, s.bus, chunk("n8-a", 4))
	check(t, "the chunk that comes", receive(t, q.Parked(), "another chunk").Chunk.ID, 4)
	check(t, "further chunks", len(q.Parked()), 0)
}

// The names of runs that are not valid, as of a hostile beat, are ignored.
func TestParkIgnoresInvalidNames(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	requests := s.watch(t, "$JS.API.CONSUMER.MSG.NEXT.>")
	q := queue(t, s.bus)
	for _, name := range []string{"", "*", ">", "a.b", "a b"} {
		q.Park(name)
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
		loan := take(t, successor, "n8-a")
		check(t, "the chunk that comes", loan.Chunk.ID, round+1)
		if err := loan.Lease.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Close ends parked requests, so that the server sends nothing more. Leases outlive it.
func TestCloseLeavesLeases(t *testing.T) {
	t.Parallel()
	s := newScene(t, lease(time.Hour))
	for id := range uint64(3) {
		publish(t, s.bus, chunk("n8-a", id+1))
	}
	s.known(t, "n8-a", 3)
	q := s.bus.Queue()
	loans := takeAll(t, q, "n8-a", 2)
	q.Park("n8-b")
	s.waiting(t, "n8-b")
	q.Close()
	publish(t, s.bus, chunk("n8-b", 1))
	check(t, "chunks of the run that was parked for", take(t, queue(t, s.other), "n8-b").Lease.Redelivered(), 0)
	if err := loans[0].Lease.Ack(t.Context()); err != nil {
		t.Errorf("ack: %v", err)
	}
	if err := loans[1].Lease.Extend(); err != nil {
		t.Errorf("extend: %v", err)
	}
	if err := loans[1].Lease.Release(); err != nil {
		t.Errorf("release: %v", err)
	}
	successor := queue(t, s.other)
	came := map[uint64]bool{take(t, successor, "n8-a").Chunk.ID: true, take(t, successor, "n8-a").Chunk.ID: true}
	check(t, "the chunks that come", came, map[uint64]bool{loans[1].Chunk.ID: true, 3: true})
	check(t, "chunks left", s.stored(t, tasks, "nq.task.n8-a"), 2)
	q.Park("n8-a")
	if _, err := q.Take(t.Context(), "n8-a", 1); err == nil {
		t.Error("a closed queue takes chunks")
	}
}
