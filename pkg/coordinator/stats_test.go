package coordinator_test

import (
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/coordinator"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

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
