package coordinator_test

import (
	"slices"
	"testing"

	"nqueens/pkg/testkit"
)

// Whatever the transport repeats, loses, reorders or makes up, the total is exact or there
// is none. Each of these tests uses a real server.

// A task that left the queue without a result is published again, and only such a task:
// the others may wait in the queue for any time.
func TestLostResultIsCountedAgain(t *testing.T) {
	t.Parallel()
	r := start(t, 6, nil)
	first := r.take(3)
	for _, d := range first {
		if err := d.lease.Ack(t.Context()); err != nil { // without storing a result
			t.Fatal(err)
		}
	}
	again := r.take(r.tasks(), first...)
	repeated := 0
	for _, d := range again {
		if slices.ContainsFunc(first, func(f takenTask) bool { return f.task.ID == d.task.ID }) {
			repeated++
		}
	}
	// The coordinator may learn later than the workers that what it published is there.
	testkit.Eventually(t, "the coordinator has published them again", func() bool { return r.progress().Republished >= uint64(len(first)) })
	for _, d := range again {
		r.publish(r.result(d, "w"))
	}
	got := r.exact()
	if repeated != len(first) || got.Snapshot.Republished != uint64(len(first)) {
		t.Errorf("%d tasks came again and %d were reported, want %d", repeated, got.Snapshot.Republished, len(first))
	}
	if said := len(r.log.Lines(leftWithoutResult)); said != 1 {
		t.Errorf("the log says so %d times", said)
	}
}

const leftWithoutResult = "tasks left the queue without a result"

// A task of which a result came, and was refused, is published again.
func TestRefusedResultIsRepublished(t *testing.T) {
	t.Parallel()
	r := start(t, 6, nil)
	first := r.next()
	refused := r.result(first, "w")
	refused.Chunk, refused.Counts[0].Hash = first.chunk, 1
	r.publish(refused)
	if err := first.lease.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.ready = nil // the rest of its chunk
	testkit.Eventually(t, "it is published again", func() bool { return r.progress().Republished > 0 })
	r.serve("w", nil)
	r.exact()
}

// A run leaves no goroutine behind, whether it completes or is stopped.
func TestNoGoroutineStays(t *testing.T) { // not beside tests with goroutines of their own
	r := start(t, 6, nil)
	r.serve("w", nil)
	r.exact()
	testkit.NoGoroutines(t, "nqueens/pkg/coordinator.")
	r = start(t, 6, nil)
	r.take(1)
	r.cancel()
	<-r.done
	testkit.NoGoroutines(t, "nqueens/pkg/coordinator.")
}
