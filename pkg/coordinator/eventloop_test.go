package coordinator

import (
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// A sweep that finds the run's last results on their way records them: neither does it
// take their tasks for lost, nor the run for blocked.
func TestSweepRecordsTheLastResults(t *testing.T) {
	classes, err := symmetry.Classes(6, queens.Mirror)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 6, queens.Mirror, classes, 2)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Create(t.TempDir(), ledger.Header{Run: "r", Created: time.Now(), Manifest: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	c := New(Config{
		Roster:     progress.NewRoster(),
		CheckAfter: time.Nanosecond, RepublishAfter: time.Nanosecond, DisputeTimeout: time.Nanosecond,
		OnProgress: func(run.Progress) {}, ReportEvery: time.Hour,
		Log: zerolog.Nop(),
	}, nil, nil, nil, nil, l)
	t.Cleanup(c.window.close)
	for range m.Tasks {
		r := c.window.publish(t)
		result := queens.ChunkResult{Run: "r", Manifest: m.Hash, Chunk: r.chunk, First: r.first, Worker: "w"}
		for i := range r.message.Tasks {
			task := r.message.Task(i)
			result.Counts = append(result.Counts, queens.TaskCount{Hash: task.Hash(), Kernel: "k"})
		}
		c.deliveries <- delivery{result: result}
	}
	if err := c.sweep(); err != nil || !c.collector.complete() || len(c.window.retryQueue) > 0 {
		t.Errorf("error %v, %d of %d tasks recorded, requests %+v", err, l.Len(), m.Tasks, c.window.retryQueue)
	}
}
