package bus_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

func TestGarbageIsTerminatedCountedAndLoggedOnce(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	s := newScene(t, logTo(&log))
	flood := append([]byte{0xff, 0xfe, 0xfd}, make([]byte, 5000)...)
	for range 3 {
		s.raw(t, "nq.task.n8-a", flood)
	}
	s.raw(t, "nq.task.n8-b", nil)
	publish(t, s.bus, chunk("n8-a", 7))
	s.known(t, "n8-a", 4)
	s.known(t, "n8-b", 1)
	q := queue(t, s.bus)
	loans := takeAll(t, q, "n8-a", 10)
	if len(loans) != 1 || loans[0].Chunk.ID != 7 {
		t.Errorf("%+v comes, want chunk 7", loans)
	}
	takeAll(t, q, "n8-b", 10)
	check(t, "rejected messages", s.bus.Rejected(), 4)
	check(t, "messages rejected by the other bus", s.other.Rejected(), 0)
	testkit.Eventually(t, "the garbage is gone from the stream", func() bool {
		return s.stream(t, tasks).State.Msgs == 1
	})
	check(t, "log lines", len(log.Lines("")), 2)
	for subject, data := range map[string][]byte{"nq.task.n8-a": flood, "nq.task.n8-b": nil} {
		lines := log.Lines(subject)
		if len(lines) != 1 {
			t.Errorf("%d log lines name %s, want 1", len(lines), subject)
			continue
		}
		if begin := hex.EncodeToString(data[:min(len(data), 8)]); !strings.Contains(lines[0], begin) || len(lines[0]) > 500 {
			t.Errorf("the log line is %q, want one with %q and no more than the beginning", lines[0], begin)
		}
	}
}

// A chunk of another protocol version stays for workers that can read it, and does not block
// the chunks behind it. It comes again only after a while.
func TestChunksOfAnotherVersionStayQueued(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	var log testkit.Log
	s := newScene(t, logTo(&log))
	s.raw(t, "nq.task.n8-a", otherVersion(t))
	publish(t, s.bus, chunk("n8-a", 7))
	queue := queue(t, s.bus)
	start := time.Now()
	loan := take(t, queue)
	check(t, "the chunk that comes", loan.Chunk.ID, 7)
	if err := loan.Lease.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, "rejected messages", s.bus.Rejected(), 1)
	check(t, "messages stored", s.stored(t, tasks, "nq.task.n8-a"), 1)
	if lines := log.Lines("version 6"); len(lines) != 1 || !strings.Contains(lines[0], "version 5") {
		t.Errorf("log lines that name both versions: %q", lines)
	}
	queue.Park("n8-a")
	testkit.Eventually(t, "the chunk comes again", func() bool { return s.bus.Rejected() == 2 })
	if since := time.Since(start); since < 4*time.Second { // it is postponed by 5
		t.Errorf("it comes again after %v", since)
	}
	check(t, "messages stored", s.stored(t, tasks, "nq.task.n8-a"), 1)
	check(t, "log lines", len(log.Lines("version")), 1)
}

// Take ends with its context, and returns what had come.
func TestTakeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publish(t, s.bus, chunk("n8-a", 1))
	s.known(t, "n8-a", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := queue(t, s.other)
	loans, err := q.Take(ctx, "n8-a", 1)
	if len(loans) == 0 && !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	// The chunk came with it or comes later; it is not lost.
	for _, loan := range loans {
		check(t, "the chunk that comes", loan.Chunk.ID, 1)
	}
	if len(loans) == 0 {
		check(t, "the chunk that comes late", receive(t, q.Parked(), "the chunk").Chunk.ID, 1)
	}
}

// Ack returns when its context ends, without a server too.
func TestAckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publish(t, s.bus, chunk("n8-a", 7))
	lease := take(t, queue(t, s.bus)).Lease
	s.server.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	// Else it would return that the deadline of a request is exceeded.
	if err := lease.Ack(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// Ack of a chunk whose run was removed fails at once, and says so.
func TestAckFailsAfterTheRunWasRemoved(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publish(t, s.bus, chunk("n8-a", 7))
	lease := take(t, queue(t, s.bus)).Lease
	if err := s.other.Tasks().Remove(t.Context(), "n8-a"); err != nil {
		t.Fatal(err)
	}
	says(t, "ack", lease.Ack(t.Context()), "nq.task.n8-a", "does not exist any more")
}

// litter stores that many messages in the queue of run n8-a that nobody can read.
func (s *scene) litter(t *testing.T, messages int) {
	t.Helper()
	for i := range messages {
		if _, err := s.js.PublishAsync("nq.task.n8-a", fmt.Append(nil, "garbage ", i)); err != nil {
			t.Fatal(err)
		}
	}
	receive(t, s.js.PublishAsyncComplete(), "the garbage is stored")
}

// Messages that can't be read stand before a chunk in the queue: Take comes to the chunk, and removes them.
func TestTakeGoesOnAfterGarbage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const garbage = 1000
	s.litter(t, garbage)
	publish(t, s.bus, chunk("n8-a", 7))
	loans := takeAll(t, queue(t, s.other), "n8-a", 2)
	if len(loans) != 1 || loans[0].Chunk.ID != 7 {
		t.Fatalf("Take returns %d chunks, want the one behind the garbage", len(loans))
	}
	check(t, "messages rejected", s.other.Rejected(), garbage)
	testkit.Eventually(t, "the garbage is removed", func() bool { return s.stored(t, tasks, "nq.task.n8-a") == 1 })
}

// A parked request goes on after messages that can't be read, and brings the next chunk.
func TestParkGoesOnAfterGarbage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	q := queue(t, s.other)
	q.Park("n8-a")
	s.waiting(t, "n8-a")
	const garbage = 100
	s.litter(t, garbage)
	publish(t, s.bus, chunk("n8-a", 7))
	check(t, "the chunk that comes", receive(t, q.Parked(), "a chunk").Chunk.ID, 7)
	check(t, "messages rejected", s.other.Rejected(), garbage)
}
