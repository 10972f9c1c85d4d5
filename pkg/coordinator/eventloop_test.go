package coordinator

import (
	"context"
	"errors"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A tick that finds the last results of a run on their way records them: neither does it take their tasks for lost,
// nor the run for blocked.
func TestTickRecordsTheLastResults(t *testing.T) {
	c, _ := newTestCoordinator(t, 6, 2, queens.Mirror)
	c.cfg.CheckAfter, c.cfg.RepublishAfter, c.cfg.DisputeTimeout = time.Nanosecond, time.Nanosecond, time.Nanosecond
	for range c.core.manifest.Tasks {
		command := c.core.publishChunk(t)
		result := run.ChunkResult{Run: "r", Manifest: c.core.manifest.Hash, Chunk: command.Chunk, First: command.First, Worker: "w"}
		for _, task := range c.core.index.Range(command.First, command.Tasks) {
			result.Counts = append(result.Counts, run.TaskCount{Hash: task.Hash(), Kernel: "k"})
		}
		c.deliveries <- delivery{result: result}
	}
	if err := c.tick(time.Now()); err != nil || !c.core.isComplete() || c.core.flight.Republished() > 0 {
		t.Errorf("error %v, %d of %d tasks recorded, %d published again", err, c.ledger.Len(), c.core.manifest.Tasks, c.core.flight.Republished())
	}
}

// The event loop ends with its context, however much there is to revoke.
func TestContextEndsRevoking(t *testing.T) {
	c, _ := newTestCoordinator(t, 8, 2, queens.Mirror)
	c.dispatched = dispatchers // it has no queue
	r := run.Result{Task: 1, Attempt: 1, Worker: "w", Kernel: "k", Key: "liar", Admitted: true}
	if _, err := c.ledger.Accept([]run.Result{r}, 0, run.StreamPosition{}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"liar", "another"} { // each takes a step
		if err := c.ledger.Quarantine(run.QuarantinedKey{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errQuarantined)
	if err := c.eventLoop(ctx); !errors.Is(err, errQuarantined) || !c.ledger.IsRevoking() {
		t.Errorf("it ends with %v; revoking: %v", err, c.ledger.IsRevoking())
	}
}
