package coordinator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/coordinator/flight"
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

// slowTasks takes a second for a check, and finds nothing.
type slowTasks struct{ Tasks }

func (slowTasks) Has(context.Context, string, uint64, uint64) (queued, taken bool, err error) {
	time.Sleep(time.Second)
	return false, false, nil
}

// A chunk is missing as of the end of the check: a worker may store its result and acknowledge it
// while the request is on its way, so results until then must be read before it counts as lost.
func TestChunkIsMissingAsOfTheEndOfTheCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newTestCoordinator(t, 8, 2, queens.Mirror)
		c.tasks = slowTasks{}
		chunk := c.core.publishChunk(t).Chunk
		time.Sleep(c.cfg.CheckAfter)
		c.core.flight.Sweep(time.Now(), nil, flight.Busy, time.Time{})
		command, ok := c.core.flight.Next()
		for ok && command.Op != flight.Check { // others are planned
			command, ok = c.core.flight.Next()
		}
		if !ok || command.Chunk != chunk {
			t.Fatalf("the command is %+v (%v), want a check", command, ok)
		}
		o, _ := c.execute(t.Context(), &command)
		c.core.completed(time.Now(), &o)
		while := time.Now().Add(-time.Millisecond)
		time.Sleep(c.cfg.CheckAfter / sweeps)
		if s := c.core.flight.Sweep(time.Now(), nil, flight.Busy, while); len(s.Lost) > 0 {
			t.Error("the chunk is lost although its result may not be read yet")
		}
		if s := c.core.flight.Sweep(time.Now(), nil, flight.Busy, time.Now()); len(s.Lost) != 1 {
			t.Error("the chunk is not lost")
		}
	})
}
