package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

func TestReleasedChunksAreRedeliveredAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, lease(time.Hour))
	publish(t, s.bus, chunk("n8-a", 7))
	loan := take(t, queue(t, s.bus), "n8-a")
	other := queue(t, s.other)
	other.Park("n8-a")
	s.waiting(t, "n8-a")
	if err := loan.Lease.Release(); err != nil {
		t.Fatal(err)
	}
	check(t, "the chunk that comes", receive(t, other.Parked(), "the chunk").Chunk.ID, 7)
}

// Nobody can take a postponed chunk before the delay has passed; then it comes.
func TestPostponedChunksComeLater(t *testing.T) {
	t.Parallel()
	const delay = time.Second
	s := newScene(t, lease(time.Hour))
	publish(t, s.bus, chunk("n8-a", 7))
	q := queue(t, s.bus)
	loan := take(t, q, "n8-a")
	start := time.Now()
	if err := loan.Lease.Postpone(delay); err != nil {
		t.Fatal(err)
	}
	again := take(t, q, "n8-a")
	if since := time.Since(start); since < delay*9/10 {
		t.Errorf("it comes again after %v", since)
	}
	check(t, "redelivered", again.Lease.Redelivered(), 1)
}

// Redelivered counts deliveries whether the lease was released or has lapsed.
func TestRedeliveredCountsEarlierDeliveries(t *testing.T) {
	t.Parallel()
	s := newScene(t, lease(300*time.Millisecond))
	publish(t, s.bus, chunk("n8-a", 7))
	one, other := queue(t, s.bus), queue(t, s.other)
	first := take(t, one, "n8-a").Lease
	check(t, "redelivered at first", first.Redelivered(), 0)
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	check(t, "redelivered after a release", take(t, other, "n8-a").Lease.Redelivered(), 1)
	check(t, "redelivered after its lease lapsed", take(t, one, "n8-a").Lease.Redelivered(), 2)
	publish(t, s.bus, chunk("n8-b", 8))
	check(t, "another chunk redelivered", take(t, other, "n8-b").Lease.Redelivered(), 0)
}

func TestAckRemovesTheChunk(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publish(t, s.bus, chunk("n8-a", 7))
	publish(t, s.bus, chunk("n8-a", 8))
	if err := take(t, queue(t, s.bus), "n8-a").Lease.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Without waiting: the server has confirmed the ack.
	check(t, "messages stored", s.stored(t, tasks, "nq.task.n8-a"), 1)
	check(t, "chunks held", s.consumer(t, "n8-a").NumAckPending, 0)
}

// A lease lasts as long as it is extended, and lapses when it is not.
func TestLeasesLapseUnlessExtended(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	for tries := 1; !leaseLastsWhileExtended(t); tries++ {
		if tries == 10 {
			t.Fatalf("a lease lapsed %d times while it was extended", tries)
		}
		t.Log("the lease lapsed while it was extended: this process or the server may have stalled; trying again")
	}
}

// leaseLastsWhileExtended returns false if the lease lapsed before it was extended for the last time, or too
// soon after that.
func leaseLastsWhileExtended(t *testing.T) bool {
	const length = time.Second
	s := newScene(t, lease(length))
	publish(t, s.bus, chunk("n8-a", 7))
	extended := time.Now()
	held := take(t, queue(t, s.bus), "n8-a").Lease
	other := queue(t, s.other)
	other.Park("n8-a")
	for deadline := extended.Add(2 * length); time.Now().Before(deadline); {
		select {
		case <-other.Parked():
			return false
		case <-time.After(length / 4):
			extended = time.Now()
			if err := held.Extend(); err != nil {
				t.Fatal(err)
			}
			s.bus.Flush(testkit.Stall)
		}
	}
	receive(t, other.Parked(), "the chunk, after its lease has lapsed")
	return time.Since(extended) >= length*9/10
}

// A worker that was suspended beyond its lease acknowledges a chunk that another worker
// has by then: the chunk is removed, and both acks succeed.
func TestLateAckIsHarmless(t *testing.T) {
	t.Parallel()
	s := newScene(t, lease(300*time.Millisecond))
	publish(t, s.bus, chunk("n8-a", 7))
	one := queue(t, s.bus)
	late := take(t, one, "n8-a").Lease
	second := take(t, queue(t, s.other), "n8-a").Lease
	if err := late.Extend(); err != nil {
		t.Errorf("extend the lapsed lease: %v", err)
	}
	if err := late.Ack(t.Context()); err != nil {
		t.Errorf("late ack: %v", err)
	}
	if err := second.Ack(t.Context()); err != nil {
		t.Errorf("second ack: %v", err)
	}
	testkit.Eventually(t, "the chunk is gone", func() bool {
		return s.stored(t, tasks, "nq.task.n8-a") == 0
	})
	publish(t, s.bus, chunk("n8-a", 8))
	check(t, "the chunk that comes", take(t, one, "n8-a").Chunk.ID, 8)
}

// Ack returns when its context ends, without a server too.
func TestAckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publish(t, s.bus, chunk("n8-a", 7))
	lease := take(t, queue(t, s.bus), "n8-a").Lease
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
	lease := take(t, queue(t, s.bus), "n8-a").Lease
	if err := s.other.Tasks().Remove(t.Context(), "n8-a"); err != nil {
		t.Fatal(err)
	}
	says(t, "ack", lease.Ack(t.Context()), "nq.task.n8-a", "does not exist any more")
}
