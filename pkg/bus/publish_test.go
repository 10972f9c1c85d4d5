package bus_test

import (
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/run"
)

// A result that a worker publishes again is stored once. Results of different workers for one chunk are all stored: the
// coordinator compares them. So are a worker's counts of some tasks of a chunk, and of all of them later, and what a
// restarted worker publishes.
func TestResultsAreStoredOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishResult(t, s.bus, result("n8-a", 7))
	other, some := result("n8-a", 7), result("n8-a", 7)
	other.Worker, some.Counts = "other", some.Counts[:1]
	for i, r := range []run.ChunkResult{result("n8-a", 7), other, some, result("n8-a", 8)} {
		publishResult(t, s.bus, r)
		check(t, "messages stored", s.stored(t, results, "nq.result.n8-a"), uint64(1+i))
	}
	publishResult(t, s.other, result("n8-a", 7))
	check(t, "messages stored", s.stored(t, results, "nq.result.n8-a"), 5)
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

func TestHasFailsWithoutAStream(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	sequence := publish(t, s.bus, chunk("n8-a", 7))
	s.delete(t, tasks)
	_, _, err := s.bus.Tasks().Has(t.Context(), "n8-a", 7, sequence)
	says(t, "without a stream", err, "0000000000000007", "n8-a")
}
