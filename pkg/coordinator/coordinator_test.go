package coordinator_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/coordinator"
	"nqueens/pkg/run"
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

// A sum beyond the published total ends the run at once, one below it at the end.
func TestContradictionWithTheKnownTotal(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]uint64{"beyond": 1 << 60, "below": 0} {
		t.Run(name, func(t *testing.T) {
			r := start(t, 6, nil)
			tasks := r.take(r.tasks())
			results := make([]*run.ChunkResult, len(tasks))
			changed := false
			for i, d := range tasks {
				results[i] = r.result(d, "w")
				if !changed && results[i].Counts[0].Count > 0 {
					results[i].Counts[0].Count, changed = wrong, true
					if wrong > 0 {
						r.publish(results[i]) // alone it must be enough
						break
					}
				}
			}
			if wrong == 0 {
				for _, result := range results {
					r.publish(result)
				}
			}
			got, err := r.end()
			if !errors.Is(err, run.ErrContradiction) || got.Total != nil {
				t.Fatalf("total %v, error %v, want no total and %v", got.Total, err, run.ErrContradiction)
			}
		})
	}
}

// Every task is in one state in every snapshot, and results are counted by what they changed.
func TestStats(t *testing.T) {
	t.Parallel()
	var latest atomic.Pointer[run.Snapshot]
	var searches, wrong atomic.Uint64
	r := start(t, 6, func(c *coordinator.Config) {
		c.DisputeTimeout = time.Hour
		c.OnSearch = func(time.Duration) { searches.Add(1) }
		report := c.OnSnapshot
		c.OnSnapshot = func(s run.Snapshot) {
			report(s)
			if n := s.States; s.Done+n.InFlight+n.Waiting+n.Disputed+n.DeadLettered != s.Tasks {
				wrong.Store(s.Done + n.InFlight + n.Waiting + n.Disputed + n.DeadLettered)
			}
			latest.Store(&s)
		}
	})
	tasks := r.take(r.tasks())
	n := uint64(len(tasks))
	liar := r.result(tasks[0], "liar")
	liar.Counts[0].Count++
	r.publish(r.result(tasks[0], "honest"))
	r.publish(liar)
	unknown := r.result(tasks[1], "liar")
	unknown.First = 1 << 40
	r.publish(unknown)
	r.publish(r.result(tasks[1], "honest"))
	r.publish(r.result(tasks[1], "another"))
	results := run.ResultCounts{Accepted: 2, Duplicate: 1, Disputed: 1}
	testkit.Eventually(t, "a task is in dispute, and one is done", func() bool {
		s := latest.Load()
		return s != nil && s.Done == 1 && s.States == run.TaskStates{Disputed: 1, InFlight: n - 2} && s.Results == results &&
			s.Refused == run.RefusedResults{UnknownTask: 1} && s.ChunkResults == 5
	})
	again := r.next()
	for again.task.ID != tasks[0].task.ID || again.chunk == tasks[0].chunk {
		again = r.next()
	}
	r.publish(r.result(again, "third"))
	for _, d := range tasks[2:] {
		r.publish(r.result(d, "honest"))
	}
	r.exact()
	s := latest.Load()
	results.Accepted, results.Settled = n, 1
	if s.Done != n || s.States != (run.TaskStates{}) || s.Results != results || s.PublishedChunks < n {
		t.Errorf("in the end: %+v", s)
	}
	if searches.Load() != n+1 {
		t.Errorf("%d searches, want %d", searches.Load(), n+1)
	}
	if sum := wrong.Load(); sum > 0 {
		t.Errorf("a snapshot had %d tasks, the run has %d", sum, n)
	}
}
