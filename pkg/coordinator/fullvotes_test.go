package coordinator_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/coordinator"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Forged counts that use up the votes of a task that takes the coordinator too long to count in a
// minute don't keep the run from its end: workers can't settle that conflict any more, so the
// coordinator counts as long as it takes.
func TestForgedVotesDoNotBlockTheRun(t *testing.T) {
	t.Parallel()
	var calls, timed atomic.Int64
	r := start(t, 6, func(c *coordinator.Config) {
		count := counting(t, &calls)
		c.Referee = func(ctx context.Context, task *queens.Task, _ ...string) (run.TaskCount, error) {
			if _, limited := ctx.Deadline(); limited { // as if the minute were over
				timed.Add(1)
				return run.TaskCount{}, context.DeadlineExceeded
			}
			return count(ctx, task)
		}
	})
	tasks := r.take(r.tasks())
	for i := range 70 { // the liars are first
		result := r.result(tasks[0], fmt.Sprint("liar ", i))
		result.Counts[0].Count += uint64(i + 1)
		r.publish(result)
	}
	for _, d := range tasks[1:] {
		r.publish(r.result(d, "honest"))
	}
	counted := make(chan struct{})
	go func() { // other workers are there, and count what comes
		defer close(counted)
		for !r.finished() {
			for _, name := range []string{"honest", "third", "fourth"} {
				r.cfg.Roster.ObserveHeartbeat(run.Heartbeat{Worker: name, Key: identitytest.Of(name).Key(), Kernel: "k", Threads: 1})
				_ = r.bus.Results().Publish(context.Background(), r.seal(r.result(tasks[0], name)))
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	r.exact()
	<-counted
	if timed.Load() == 0 || calls.Load() == 0 {
		t.Error("the coordinator did not try within a minute first, and then without a limit")
	}
}
