package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"
)

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
