package bus_test

import (
	"context"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// Take returns what waits, at most what was asked for, as it was published and in order, and
// tells how much waits behind it.
func TestTakeReturnsPublishedChunks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for id := range uint64(5) {
		publish(t, s.bus, chunk("n8-a", id+1))
	}
	s.known(t, "n8-a", 5)
	queue := queue(t, s.other)
	var ids []uint64
	for _, want := range []struct{ most, come int }{{2, 2}, {10, 3}, {10, 0}, {0, 0}, {-1, 0}} {
		loans := takeAll(t, queue, "n8-a", want.most)
		check(t, "chunks that come", len(loans), want.come)
		for _, loan := range loans {
			ids = append(ids, loan.Chunk.ID)
			if want := chunk("n8-a", loan.Chunk.ID); !reflect.DeepEqual(loan.Chunk, want) {
				t.Errorf("%+v arrives as %+v", want, loan.Chunk)
			}
			check(t, "chunks behind it", loan.Queued, 5-len(ids))
		}
	}
	check(t, "chunks", ids, []uint64{1, 2, 3, 4, 5})
}

// A chunk of one run never comes for another run.
func TestRunsAreApart(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	queue := queue(t, s.other)
	for id := range uint64(3) {
		publish(t, s.bus, chunk("n8-b", id+1))
	}
	check(t, "chunks that come for the other run", len(takeAll(t, queue, "n8-a", 10)), 0)
	queue.Park("n8-a")
	s.waiting(t, "n8-a")
	publish(t, s.bus, chunk("n8-b", 4))
	publish(t, s.bus, chunk("n8-a", 5))
	check(t, "the chunk that comes for the parked request", receive(t, queue.Parked(), "a chunk").Chunk.ID, 5)
	s.known(t, "n8-b", 4)
	loans := takeAll(t, queue, "n8-b", 10)
	check(t, "chunks that come for the run", len(loans), 4)
	for _, loan := range loans {
		check(t, "the run of a chunk", loan.Chunk.Run, "n8-b")
	}
}

// Several workers share the chunks: no chunk goes to two of them.
func TestQueuesShareChunks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	const total = 60
	all := make(chan run.Loan, 2*total)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var queues sync.WaitGroup
	for i := range 4 {
		queue := []*bus.Bus{s.bus, s.other}[i%2].Queue()
		queues.Go(func() {
			defer queue.Close()
			for ctx.Err() == nil {
				loans, _ := queue.Take(ctx, "n8-a", 1+i)
				for _, loan := range loans {
					all <- loan
				}
				queue.Park("n8-a")
				select {
				case loan := <-queue.Parked():
					all <- loan
				case <-ctx.Done():
				}
			}
		})
	}
	for id := range uint64(total) {
		publish(t, s.bus, chunk("n8-a", id+1))
	}
	seen := make(map[uint64]bool)
	for range total {
		next := receive(t, all, "another chunk")
		if seen[next.Chunk.ID] {
			t.Errorf("chunk %d is delivered twice", next.Chunk.ID)
		}
		seen[next.Chunk.ID] = true
		if err := next.Lease.Ack(t.Context()); err != nil {
			t.Error(err)
		}
	}
	stop()
	queues.Wait()
}

// A queue requests no more than it returns: the rest stays for other workers.
func TestTakePrefetchesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for id := range uint64(3) {
		publish(t, s.bus, chunk("n8-a", id+1))
	}
	s.known(t, "n8-a", 3)
	first, second := queue(t, s.bus), queue(t, s.other)
	takeAll(t, first, "n8-a", 1)
	check(t, "chunks held", s.consumer(t, "n8-a").NumAckPending, 1)
	check(t, "chunks left", len(takeAll(t, second, "n8-a", 10)), 2)
	check(t, "chunks held", s.consumer(t, "n8-a").NumAckPending, 3)
}

func TestGarbageIsTerminatedCountedAndLoggedOnce(t *testing.T) {
	t.Parallel()
	var log bustest.Log
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
	var log bustest.Log
	s := newScene(t, logTo(&log))
	s.raw(t, "nq.task.n8-a", otherVersion(t))
	publish(t, s.bus, chunk("n8-a", 7))
	queue := queue(t, s.bus)
	start := time.Now()
	loan := take(t, queue, "n8-a")
	check(t, "the chunk that comes", loan.Chunk.ID, 7)
	if err := loan.Lease.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, "rejected messages", s.bus.Rejected(), 1)
	check(t, "messages stored", s.stored(t, tasks, "nq.task.n8-a"), 1)
	if lines := log.Lines("version 5"); len(lines) != 1 || !strings.Contains(lines[0], "version 4") {
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

// Take returns at once if there is nothing: no chunk, no consumer, no stream, no run of that
// name. None of that is an error.
func TestTakeDoesNotWait(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	bare := bustest.Connect(t, bustest.Server(t))
	for name, c := range map[string]struct {
		bus *bus.Bus
		run string
	}{"no chunk": {s.bus, "n8-a"}, "no consumer": {s.bus, "n8-c"}, "no stream": {bare, "n8-a"}} {
		q := queue(t, c.bus)
		least := time.Hour // this machine may stall
		for range 3 {
			start := time.Now()
			loans, err := q.Take(t.Context(), c.run, 10)
			if len(loans) != 0 || err != nil {
				t.Errorf("%s: %d chunks (error %v)", name, len(loans), err)
			}
			least = min(least, time.Since(start))
		}
		if least > 4*time.Second { // the timeout is 5 seconds
			t.Errorf("%s: it takes %v", name, least)
		}
	}
	if _, err := queue(t, s.bus).Take(t.Context(), "*", 1); err == nil {
		t.Error("chunks of a run named * can be taken")
	}
}

// Without a server, Take returns an error, soon.
func TestTakeFailsWithoutAServer(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	q := queue(t, s.bus)
	takeAll(t, q, "n8-a", 1)
	s.server.Stop()
	testkit.Eventually(t, "the connection is lost", func() bool { return s.bus.Connected() != nil })
	least := time.Hour // this machine may stall
	for range 3 {
		start := time.Now()
		if _, err := q.Take(t.Context(), "n8-a", 1); err == nil {
			t.Error("no error")
		}
		least = min(least, time.Since(start))
	}
	if least > 4*time.Second { // the timeout is 5 seconds
		t.Errorf("it takes %v", least)
	}
	q.Park("n8-a") // does nothing
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
