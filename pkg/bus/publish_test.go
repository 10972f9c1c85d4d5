package bus_test

import (
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/testkit"
)

func TestRepublishedResultIsStoredOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishResult(t, s.bus, result("n8-a", 7))
	publishResult(t, s.bus, result("n8-a", 7))
	check(t, "messages stored", s.stored(t, results, "nq.result.n8-a"), 1)
}

// What a restarted worker publishes is no duplicate of what its predecessor published.
func TestResultsAreDuplicatesOnlyOfOneConnection(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishResult(t, s.bus, result("n8-a", 7))
	publishResult(t, s.other, result("n8-a", 7))
	check(t, "results stored", s.stored(t, results, "nq.result.n8-a"), 2)
}

// Results of different workers for one chunk are all stored: the coordinator compares them.
// So are one worker's counts of some tasks of a chunk, and of all of them later.
func TestDifferentResultsAreAllStored(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishResult(t, s.bus, result("n8-a", 7))
	other := result("n8-a", 7)
	other.Worker = "other"
	publishResult(t, s.bus, other)
	some := result("n8-a", 7)
	some.Counts = some.Counts[:1]
	publishResult(t, s.bus, some)
	publishResult(t, s.bus, result("n8-a", 8))
	check(t, "messages of the run", s.stored(t, results, "nq.result.n8-a"), 4)
}

// A full queue rejects a chunk rather than drop one that it has.
func TestFullQueueRejects(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	limited := s.stream(t, tasks).Config
	limited.MaxMsgsPerSubject = 2
	update(t, s, limited)
	publish(t, s.bus, chunk("n8-a", 1))
	publish(t, s.bus, chunk("n8-a", 2))
	third := chunk("n8-a", 3)
	_, err := s.bus.Tasks().Publish(t.Context(), &third)
	says(t, "a chunk beyond its run's share", err, "nq.task.n8-a", "maximum messages per subject exceeded")
	check(t, "chunks of the run", s.stored(t, tasks, "nq.task.n8-a"), 2)
	publish(t, s.bus, chunk("n8-b", 1)) // another run has room of its own

	// After an ack there is room again, also for the message that was rejected.
	if err := take(t, queue(t, s.bus)).Lease.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(t, s.bus, third)
	check(t, "chunks of the run", s.stored(t, tasks, "nq.task.n8-a"), 2)

	limited.MaxBytes = int64(s.stream(t, tasks).State.Bytes)
	update(t, s, limited)
	beyond := chunk("n8-c", 1)
	_, err = s.bus.Tasks().Publish(t.Context(), &beyond)
	says(t, "a chunk beyond the stream's bytes", err, "nq.task.n8-c", "maximum bytes exceeded")
	check(t, "chunks", s.stream(t, tasks).State.Msgs, 3)
}

func TestFullResultStreamRejects(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishResult(t, s.bus, result("n8-a", 3))
	limited := s.stream(t, results).Config
	limited.MaxBytes = int64(s.stream(t, results).State.Bytes) + 10
	update(t, s, limited)
	next := result("n8-a", 4)
	says(t, "a result beyond the stream's bytes", s.bus.Results().Publish(t.Context(), &next), "nq.result.n8-a", "maximum bytes exceeded")
	check(t, "results stored", s.stored(t, results, "nq.result.n8-a"), 1)

	// The same result is stored when there is room.
	if err := s.bus.Registry().Delete(t.Context(), "n8-a"); err != nil {
		t.Fatal(err)
	}
	publishResult(t, s.bus, next)
	check(t, "results stored", s.stored(t, results, "nq.result.n8-a"), 1)
}

// A publish that gets no answer fails: there is no stream, or no server.
func TestPublishFailsWithoutAStream(t *testing.T) {
	t.Parallel()
	gone := bustest.Server(t)
	lost := bustest.Connect(t, gone)
	gone.Stop()
	for name, b := range map[string]*bus.Bus{
		"no stream": bustest.Connect(t, bustest.Server(t)),
		"no server": lost,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chunk, result := chunk("n8-a", 7), result("n8-a", 7)
			_, err := b.Tasks().Publish(t.Context(), &chunk)
			says(t, "a chunk", err, "nq.task.n8-a")
			says(t, "a result", b.Results().Publish(within(t, 500*time.Millisecond), &result), "nq.result.n8-a")
		})
	}
}

// A stream that was created again counts from 1 again: another message at a chunk's
// sequence is not that chunk.
func TestHasIgnoresOtherMessagesAtTheSequence(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	has := func(run string, sequence uint64, want bool) {
		t.Helper()
		if queued, _, err := s.bus.Tasks().Has(t.Context(), run, 7, sequence); queued != want || err != nil {
			t.Errorf("the chunk of run %s is queued: %v (error %v), want %v", run, queued, err, want)
		}
	}
	sequence := publish(t, s.bus, chunk("n8-a", 7))
	s.delete(t, tasks)
	ensureAgain(t, s.bus)
	check(t, "the other's sequence", publish(t, s.bus, chunk("n8-b", 7)), sequence)
	has("n8-a", sequence, false)
	has("n8-b", sequence, true)
	s.delete(t, tasks)
	ensureAgain(t, s.bus)
	s.raw(t, "nq.task.n8-a", []byte("no id"))
	has("n8-a", sequence, false)
}

func TestHasFailsWithoutAStream(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	sequence := publish(t, s.bus, chunk("n8-a", 7))
	s.delete(t, tasks)
	_, _, err := s.bus.Tasks().Has(t.Context(), "n8-a", 7, sequence)
	says(t, "without a stream", err, "0000000000000007", "n8-a")
}

// What Has says of chunks taken from a stream is not said of those of a stream that is made again, whose
// sequences begin at 1 again: at once, or within a second if another process has made it.
func TestHasForgetsAStreamThatIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, byOther := range []bool{false, true} {
		s := newScene(t)
		for id := range uint64(5) {
			publish(t, s.bus, chunk("n8-a", id+1))
		}
		check(t, "chunks taken", len(takeAll(t, queue(t, s.other), "n8-a", 5)), 5)
		isTaken := func(id, sequence uint64) bool {
			queued, taken, err := s.bus.Tasks().Has(t.Context(), "n8-a", id, sequence)
			if !queued || err != nil {
				t.Fatalf("chunk %d is not in the queue: %v", id, err)
			}
			return taken
		}
		check(t, "the last one is taken", isTaken(5, 5), true)
		if err := s.js.DeleteStream(t.Context(), tasks); err != nil {
			t.Fatal(err)
		}
		if byOther {
			ensure(t, s.other)
		} else {
			ensure(t, s.bus)
		}
		c := chunk("n8-a", 7)
		sequence, err := s.other.Tasks().Publish(t.Context(), &c)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "the sequence of the new chunk", sequence, 1)
		if byOther {
			testkit.Eventually(t, "the new chunk is not taken", func() bool { return !isTaken(7, 1) })
		} else {
			check(t, "the new chunk is taken", isTaken(7, 1), false)
		}
	}
}
