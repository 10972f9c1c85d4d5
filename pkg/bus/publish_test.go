package bus_test

import (
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
)

// A message that is sent again because its acknowledgement was lost is stored once, at the
// sequence of the first.
func TestRepublishedAttemptIsStoredOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first := publishTask(t, s.bus, task("n8-a", 7))
	check(t, "the sequence of the duplicate", publishTask(t, s.bus, task("n8-a", 7)), first)
	check(t, "messages stored", s.stored(t, tasks, "nq.task.n8-a"), 1)
}

// Another attempt, another task or another run is no duplicate.
func TestDifferentTasksAreAllStored(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	sequences := map[uint64]bool{publishTask(t, s.bus, task("n8-a", 7)): true}
	again := task("n8-a", 7)
	again.Attempt = 2
	sequences[publishTask(t, s.bus, again)] = true
	sequences[publishTask(t, s.bus, task("n8-a", 8))] = true
	sequences[publishTask(t, s.bus, task("n8-b", 7))] = true
	check(t, "sequences", len(sequences), 4)
	check(t, "messages of the run", s.stored(t, tasks, "nq.task.n8-a"), 3)
	check(t, "messages of the other run", s.stored(t, tasks, "nq.task.n8-b"), 1)
}

func TestRepublishedResultIsStoredOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishResult(t, s.bus, result("n8-a", 7))
	publishResult(t, s.bus, result("n8-a", 7))
	check(t, "messages stored", s.stored(t, results, "nq.result.n8-a"), 1)
}

// What a restarted coordinator or worker publishes is no duplicate of what its predecessor
// published.
func TestDeduplicationIsPerConnection(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first := publishTask(t, s.bus, task("n8-a", 7))
	if second := publishTask(t, s.other, task("n8-a", 7)); second == first {
		t.Errorf("the task of another connection has the same sequence %d", second)
	}
	publishResult(t, s.bus, result("n8-a", 7))
	publishResult(t, s.other, result("n8-a", 7))
	check(t, "tasks stored", s.stored(t, tasks, "nq.task.n8-a"), 2)
	check(t, "results stored", s.stored(t, results, "nq.result.n8-a"), 2)
}

// Results of different workers for one task are all stored: the coordinator compares them.
func TestDifferentResultsAreAllStored(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishResult(t, s.bus, result("n8-a", 7))
	other := result("n8-a", 7)
	other.Worker = "other"
	publishResult(t, s.bus, other)
	again := result("n8-a", 7)
	again.Attempt = 2
	publishResult(t, s.bus, again)
	publishResult(t, s.bus, result("n8-a", 8))
	check(t, "messages of the run", s.stored(t, results, "nq.result.n8-a"), 4)
}

// A full queue rejects a task rather than drop one that it has.
func TestFullTaskQueueRejects(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	limited := s.stream(t, tasks).Config
	limited.MaxMsgsPerSubject = 2
	update(t, s, limited)
	publishTask(t, s.bus, task("n8-a", 0))
	publishTask(t, s.bus, task("n8-a", 1))
	third := task("n8-a", 2)
	_, err := s.bus.Tasks().Publish(t.Context(), &third)
	says(t, "a task beyond its run's share", err, "nq.task.n8-a", "maximum messages per subject exceeded")
	check(t, "tasks of the run", s.stored(t, tasks, "nq.task.n8-a"), 2)
	publishTask(t, s.bus, task("n8-b", 0)) // another run has room of its own

	// After an ack there is room again, also for the message that was rejected.
	_, lease := take(t, queue(t, s.bus))
	if err := lease.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	publishTask(t, s.bus, third)
	check(t, "tasks of the run", s.stored(t, tasks, "nq.task.n8-a"), 2)

	limited.MaxBytes = int64(s.stream(t, tasks).State.Bytes)
	update(t, s, limited)
	beyond := task("n8-c", 0)
	_, err = s.bus.Tasks().Publish(t.Context(), &beyond)
	says(t, "a task beyond the stream's bytes", err, "nq.task.n8-c", "maximum bytes exceeded")
	check(t, "tasks", s.stream(t, tasks).State.Msgs, 3)
}

func TestFullResultStreamRejects(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishResult(t, s.bus, result("n8-a", 0))
	limited := s.stream(t, results).Config
	limited.MaxBytes = int64(s.stream(t, results).State.Bytes) + 10
	update(t, s, limited)
	next := result("n8-a", 1)
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
			task, result := task("n8-a", 7), result("n8-a", 7)
			_, err := b.Tasks().Publish(t.Context(), &task)
			says(t, "a task", err, "nq.task.n8-a")
			says(t, "a result", b.Results().Publish(within(t, 500*time.Millisecond), &result), "nq.result.n8-a")
		})
	}
}

// A task is in the queue while it waits and while it is held, until it is acknowledged.
func TestHasReportsUnacknowledgedTasks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	task := task("n8-a", 7)
	sequence := publishTask(t, s.bus, task)
	queued := func() bool {
		t.Helper()
		is, err := s.bus.Tasks().Has(t.Context(), &task, sequence)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	check(t, "queued while it waits", queued(), true)
	_, lease := take(t, queue(t, s.bus))
	check(t, "queued while it is held", queued(), true)
	if err := lease.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, "queued after the ack", queued(), false)

	task.Attempt++
	check(t, "queued before it is published again", queued(), false)
	sequence = publishTask(t, s.bus, task)
	check(t, "queued when it is published again", queued(), true)
	if err := s.bus.Registry().Delete(t.Context(), "n8-a"); err != nil {
		t.Fatal(err)
	}
	check(t, "queued after its run was deleted", queued(), false)
	sequence += 1000
	check(t, "queued at a sequence beyond the last", queued(), false)
}

// A stream that was created again counts from 1 again: another message at a task's
// sequence is not that task.
func TestHasIgnoresOtherMessagesAtTheSequence(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ours := task("n8-a", 7)
	sequence := publishTask(t, s.bus, ours)
	s.delete(t, tasks)
	ensureAgain(t, s.bus)
	others := task("n8-b", 7)
	check(t, "the other's sequence", publishTask(t, s.bus, others), sequence)
	if queued, err := s.bus.Tasks().Has(t.Context(), &ours, sequence); queued || err != nil {
		t.Errorf("queued: %v (error %v)", queued, err)
	}
	if queued, err := s.bus.Tasks().Has(t.Context(), &others, sequence); !queued || err != nil {
		t.Errorf("the other is queued: %v (error %v)", queued, err)
	}
	s.delete(t, tasks)
	ensureAgain(t, s.bus)
	s.raw(t, "nq.task.n8-a", []byte("no id"))
	if queued, err := s.bus.Tasks().Has(t.Context(), &ours, sequence); queued || err != nil {
		t.Errorf("with a message without an id at its sequence, queued: %v (error %v)", queued, err)
	}
}

func TestHasFailsWithoutAStream(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	task := task("n8-a", 7)
	sequence := publishTask(t, s.bus, task)
	s.delete(t, tasks)
	if _, err := s.bus.Tasks().Has(t.Context(), &task, sequence); err == nil {
		t.Error("no error, and no stream")
	}
}
