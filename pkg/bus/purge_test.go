package bus_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/bus"
	"nqueens/pkg/run"
)

// Trim removes only results of its run and before its position, only if the stream is more
// than half full, and only from the stream of the position.
func TestTrimMakesRoom(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for id := uint64(1); id <= 10; id++ {
		publishResult(t, s.bus, result("n8-b", id))
		publishResult(t, s.bus, result("n8-a", id))
	}
	fourth, seventh := s.position(t, 8), s.position(t, 14)
	elsewhere, lost, beyond, beginning := seventh, seventh, seventh, seventh
	elsewhere.Created = elsewhere.Created.Add(-time.Second)
	lost.Stored = lost.Stored.Add(-1)
	beyond.Sequence, beginning.Sequence = 21, 0
	for _, c := range []struct {
		name            string
		bytes, messages float64 // how full the stream is; 0 without a limit
		at              run.StreamPosition
		left            uint64
	}{
		{"without a limit", 0, 0, seventh, 10},
		{"less than half of its bytes", 0.45, 0, seventh, 10},
		{"half of its messages", 0, 0.5, seventh, 10},
		{"a position in another stream", 0.9, 0, elsewhere, 10},
		{"a position whose result was lost", 0.9, 0, lost, 10},
		{"a position beyond the end", 0.9, 0, beyond, 10},
		{"the beginning", 0.9, 0, beginning, 10},
		{"more than half of its bytes", 0.55, 0, fourth, 7},
		{"more than half of its messages", 0, 0.55, seventh, 4},
	} {
		info := s.stream(t, results)
		info.Config.MaxBytes, info.Config.MaxMsgs = -1, -1
		if c.bytes > 0 {
			info.Config.MaxBytes = int64(float64(info.State.Bytes) / c.bytes)
		}
		if c.messages > 0 {
			info.Config.MaxMsgs = int64(float64(info.State.Msgs) / c.messages)
		}
		update(t, s, info.Config)
		if err := s.other.Results().Trim(t.Context(), "n8-a", c.at); err != nil {
			t.Fatal(err)
		}
		check(t, c.name+": results of the run", s.stored(t, results, "nq.result.n8-a"), c.left)
		check(t, c.name+": results of the other run", s.stored(t, results, "nq.result.n8-b"), 10)
	}
	read := readAfter(t, s.other, seventh)
	for id := uint64(8); id <= 10; id++ {
		check(t, "the result that comes", receive(t, read.Results, "a result").Chunk, id)
	}
}

// position returns the position of the result with that sequence.
func (s *scene) position(t *testing.T, sequence uint64) run.StreamPosition {
	t.Helper()
	stream, err := s.js.Stream(t.Context(), results)
	if err != nil {
		t.Fatal(err)
	}
	message, err := stream.GetMsg(t.Context(), sequence)
	if err != nil {
		t.Fatal(err)
	}
	return run.StreamPosition{Created: stream.CachedInfo().Created, Sequence: sequence, Stored: message.Time}
}

func TestTrimFailsWithoutAStream(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.delete(t, results)
	says(t, "without the stream", s.bus.Results().Trim(t.Context(), "n8-a", run.StreamPosition{Sequence: 1}), results)
}

// Remove leaves neither chunks nor the consumer of a run, and leaves other runs alone. What
// does not exist is no error.
func TestRemoveRemovesTheConsumer(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publish(t, s.bus, chunk("n8-a", 1))
	publish(t, s.bus, chunk("n8-b", 1))
	for range 2 { // the second time it is gone
		if err := s.other.Tasks().Remove(t.Context(), "n8-a"); err != nil {
			t.Fatal(err)
		}
	}
	s.noConsumer(t, "n8-a")
	check(t, "chunks of the run", s.stored(t, tasks, "nq.task.n8-a"), 0)
	s.known(t, "n8-b", 1)
	check(t, "chunks of the other run", len(takeAll(t, queue(t, s.bus), "n8-b", 10)), 1)
	s.delete(t, tasks)
	if err := s.other.Tasks().Remove(t.Context(), "n8-b"); err != nil {
		t.Errorf("without the stream: %v", err)
	}
}

func (s *scene) noConsumer(t *testing.T, run string) {
	t.Helper()
	if _, err := s.js.Consumer(t.Context(), tasks, run); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Errorf("the consumer of run %s: error %v, want %v", run, err, jetstream.ErrConsumerNotFound)
	}
}

// Deleting a run leaves no record, not even a delete marker.
func TestDeletingARunRemovesItsRecord(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if err := s.bus.Registry().Delete(t.Context(), "n8-a"); err != nil {
		t.Errorf("without a record: %v", err)
	}
	claim(t, s.bus, record("n8-a"))
	claim(t, s.bus, record("n8-b"))
	if err := s.other.Registry().Delete(t.Context(), "n8-a"); err != nil {
		t.Fatal(err)
	}
	check(t, "records stored", s.stream(t, "KV_nq_runs").State.Msgs, 1)
	runs, err := s.bus.Registry().Records(t.Context())
	if err != nil || len(runs) != 1 || runs[0].Run != "n8-b" {
		t.Errorf("the runs are %+v (error %v), want n8-b alone", runs, err)
	}
	check(t, "epoch of a new run of that name", claim(t, s.bus, record("n8-a")).Epoch(), 1)
}

// A run can be cancelled and deleted if streams are missing; what the others hold of it is
// removed.
func TestPurgesSucceedWithoutStreams(t *testing.T) {
	t.Parallel()
	for _, missing := range [][]string{{tasks}, {results}, {tasks, results}, {tasks, results, "KV_nq_runs"}} {
		s := newScene(t)
		claim(t, s.bus, record("n8-a"))
		publish(t, s.bus, chunk("n8-a", 1))
		publishResult(t, s.bus, result("n8-a", 1))
		for _, stream := range missing {
			s.delete(t, stream)
		}
		if err := s.other.Tasks().Purge(t.Context(), "n8-a"); err != nil {
			t.Errorf("without %q: Purge: %v", missing, err)
		}
		err := s.other.Registry().Cancel(t.Context(), "n8-a")
		if len(missing) < 3 {
			if err != nil {
				t.Errorf("without %q: Cancel: %v", missing, err)
			}
			check(t, "state", readRecord(t, s.bus, time.Time{}).State, run.Cancelled)
		} else if !errors.Is(err, bus.ErrNoRecord) {
			t.Errorf("without %q: Cancel: %v, want %v", missing, err, bus.ErrNoRecord)
		}
		for name, subject := range map[string]string{tasks: "nq.task.n8-a", results: "nq.result.n8-a"} {
			if !slices.Contains(missing, name) {
				check(t, name, s.stored(t, name, subject), 0)
			}
		}
		if err := s.other.Registry().Delete(t.Context(), "n8-a"); err != nil {
			t.Errorf("without %q: Delete: %v", missing, err)
		}
	}
}

func TestPurgeErrorsNameTheSubjects(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.other.Close()
	says(t, "without a connection", s.other.Registry().Delete(t.Context(), "n8-a"), tasks, "nq.task.n8-a", results, "nq.result.n8-a", "KV_nq_runs")
}
