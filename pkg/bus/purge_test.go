package bus_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/bus"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// What is accepted makes room once the stream is half full, up to its position and for
// its run alone; before, and where another stream has the name, all stays.
func TestAcceptedMakesRoom(t *testing.T) {
	t.Parallel()
	bytes := func(part float64) func(*jetstream.StreamInfo) {
		return func(i *jetstream.StreamInfo) { i.Config.MaxBytes = int64(float64(i.State.Bytes) / part) }
	}
	messages := func(part float64) func(*jetstream.StreamInfo) {
		return func(i *jetstream.StreamInfo) { i.Config.MaxMsgs = int64(float64(i.State.Msgs) / part) }
	}
	for name, c := range map[string]struct {
		limit func(*jetstream.StreamInfo)
		age   time.Duration // of the position's stream, more than of the real one
		left  uint64
	}{
		"more than half of its bytes":    {bytes(0.55), 0, 3},
		"less than half of its bytes":    {bytes(0.45), 0, 10},
		"more than half of its messages": {messages(0.55), 0, 3},
		"half of its messages":           {messages(0.5), 0, 10},
		"no limit to speak of":           {func(*jetstream.StreamInfo) {}, 0, 10},
		"a position in another stream":   {bytes(0.9), time.Second, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			for id := range uint64(10) {
				publishResult(t, s.bus, result("n8-b", id))
				publishResult(t, s.bus, result("n8-a", id))
			}
			info := s.stream(t, results)
			c.limit(info)
			update(t, s, info.Config)
			at := run.StreamPosition{Created: info.Created.Add(-c.age), Sequence: 14}
			if err := s.other.Results().Trim(t.Context(), "n8-a", at); err != nil {
				t.Fatal(err)
			}
			check(t, "results of the run", s.stored(t, results, "nq.result.n8-a"), c.left)
			check(t, "results of the other run", s.stored(t, results, "nq.result.n8-b"), 10)
			// Those after the position are there still.
			read := readAfter(t, s.other, run.StreamPosition{Created: info.Created, Sequence: 14})
			read.await(t, 7, 8, 9)
		})
	}
}

func TestAcceptedIsAnErrorWithoutAStream(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.delete(t, results)
	says(t, "without the stream", s.bus.Results().Trim(t.Context(), "n8-a", run.StreamPosition{Sequence: 1}), results)
}

// Purged tasks are gone, those that a worker holds too, and nothing else is.
func TestPurgeTasksRemovesWaitingAndHeldOnes(t *testing.T) {
	t.Parallel()
	const length = 300 * time.Millisecond
	s := newScene(t, lease(length))
	publishTask(t, s.bus, task("n8-a", 0))
	publishTask(t, s.bus, task("n8-a", 1))
	publishResult(t, s.bus, result("n8-a", 2))
	take(t, queue(t, s.bus), 5*time.Second)
	if err := s.other.Tasks().Purge(t.Context(), "n8-a"); err != nil {
		t.Fatal(err)
	}
	check(t, "tasks of the run", s.stored(t, tasks, "nq.task.n8-a"), 0)
	check(t, "results of the run", s.stored(t, results, "nq.result.n8-a"), 1)
	taken := follow(t, queue(t, s.other))
	publishTask(t, s.bus, task("n8-b", 7))
	check(t, "the task that comes", receive(t, taken, 5*time.Second, "a task").Run, "n8-b")
	isQuiet(t, taken, 3*length, "n8-b")
}

// A task that is withdrawn goes to nobody, neither to who waits for one nor, when the
// lease of who holds it is over, to another.
func TestWithdrawnTasksAreNotDelivered(t *testing.T) {
	t.Parallel()
	const length = 300 * time.Millisecond
	s := newScene(t, lease(length))
	held, waiting := task("n8-a", 0), task("n8-a", 1)
	places := []uint64{publishTask(t, s.bus, held), publishTask(t, s.bus, waiting)}
	taken, late := take(t, queue(t, s.bus), 5*time.Second)
	check(t, "the task that is held", taken.ID, 0)
	for i, task := range []queens.Task{held, waiting} {
		for range 2 { // the second time it is gone
			if err := s.bus.Tasks().Delete(t.Context(), &task, places[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	check(t, "tasks of the run", s.stored(t, tasks, "nq.task.n8-a"), 0)
	others := follow(t, queue(t, s.other))
	isQuiet(t, others, 4*length, "n8-b")
	if err := late.Ack(t.Context()); err != nil {
		t.Errorf("who held the task: %v", err)
	}
	publishTask(t, s.bus, task("n8-a", 2))
	check(t, "the task that comes", receive(t, others, 5*time.Second, "a task").ID, 2)
}

// isQuiet checks that for so long no task comes but those of that run, which are
// lent again and again.
func isQuiet(t *testing.T, taken <-chan queens.Task, d time.Duration, but string) {
	t.Helper()
	for over := time.After(d); ; {
		select {
		case task := <-taken:
			if task.Run != but {
				t.Errorf("task %d of run %s comes", task.ID, task.Run)
			}
		case <-over:
			return
		}
	}
}

// What else lies at the place stays: a stream that was made anew counts from 1 again.
func TestWithdrawLeavesOtherMessages(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ours, others := task("n8-a", 7), task("n8-b", 7)
	place := publishTask(t, s.bus, ours)
	s.delete(t, tasks)
	if err := s.bus.Tasks().Delete(t.Context(), &ours, place); err == nil {
		t.Error("no error, and no stream")
	}
	ensureAgain(t, s.bus)
	check(t, "the other's place", publishTask(t, s.bus, others), place)
	if err := s.bus.Tasks().Delete(t.Context(), &ours, place); err != nil {
		t.Error(err)
	}
	check(t, "tasks of the other run", s.stored(t, tasks, "nq.task.n8-b"), 1)
}

// A run that is forgotten has no record, nor any trace of one.
func TestForgetRemovesTheRecord(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if err := s.bus.Registry().Delete(t.Context(), "n8-a"); err != nil {
		t.Errorf("where there never was a record: %v", err)
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
	check(t, "epoch of a run that begins anew", claim(t, s.bus, record("n8-a")).Epoch(), 1)
}

// Where streams are missing there is nothing to remove: a run is cancelled and forgotten
// all the same, and what other streams have of it goes.
func TestPurgesWithoutStreams(t *testing.T) {
	t.Parallel()
	for _, missing := range [][]string{{tasks}, {results}, {tasks, results}, {tasks, results, "KV_nq_runs"}} {
		s := newScene(t)
		claim(t, s.bus, record("n8-a"))
		publishTask(t, s.bus, task("n8-a", 0))
		publishResult(t, s.bus, result("n8-a", 1))
		for _, stream := range missing {
			s.delete(t, stream)
		}
		if err := s.other.Tasks().Purge(t.Context(), "n8-a"); err != nil {
			t.Errorf("without %q: PurgeTasks: %v", missing, err)
		}
		err := s.other.Registry().Cancel(t.Context(), "n8-a")
		if len(missing) < 3 {
			if err != nil {
				t.Errorf("without %q: CancelRun: %v", missing, err)
			}
			check(t, "state", readRecord(t, s.bus, time.Time{}).State, run.Cancelled)
		} else if !errors.Is(err, bus.ErrNoRecord) {
			t.Errorf("without %q: CancelRun: %v, want %v", missing, err, bus.ErrNoRecord)
		}
		for name, subject := range map[string]string{tasks: "nq.task.n8-a", results: "nq.result.n8-a"} {
			if !slices.Contains(missing, name) {
				check(t, name, s.stored(t, name, subject), 0)
			}
		}
		if err := s.other.Registry().Delete(t.Context(), "n8-a"); err != nil {
			t.Errorf("without %q: Forget: %v", missing, err)
		}
	}
}

// A purge that the server does not answer is an error that names what was to be removed.
func TestPurgesSayWhatFailed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.other.Close()
	says(t, "after the connection's end", s.other.Registry().Delete(t.Context(), "n8-a"), tasks, "nq.task.n8-a", results, "nq.result.n8-a", "KV_nq_runs")
}
