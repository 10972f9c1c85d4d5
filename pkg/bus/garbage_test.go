package bus_test

import (
	"fmt"
	"testing"

	"nqueens/pkg/testkit"
)

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
