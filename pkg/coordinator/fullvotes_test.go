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

// An admitted key that is connected and counts nothing keeps no dispute open: after a while the coordinator
// counts the task itself, however long that takes.
func TestIdleVoterKeepsNoDisputeOpen(t *testing.T) {
	var calls atomic.Int64
	r := start(t, 6, func(c *coordinator.Config) {
		count := counting(t, &calls)
		c.Referee = func(ctx context.Context, task *queens.Task, _ ...string) (queens.TaskCount, error) {
			if _, limited := ctx.Deadline(); limited { // as if the minute were over
				return queens.TaskCount{}, context.DeadlineExceeded
			}
			return count(ctx, task)
		}
	})
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		for !r.finished() {
			r.cfg.Roster.ObserveHeartbeat(run.Heartbeat{Worker: "idle", Key: identitytest.Of("idle").Key(), Kernel: "k", Threads: 1, Busy: 1})
			time.Sleep(100 * time.Millisecond)
		}
	}()
	tasks := r.take(r.tasks())
	wrong := r.result(tasks[0], "wrong")
	wrong.Counts[0].Count++
	r.publish(wrong)
	for _, d := range tasks {
		r.publish(r.result(d, "honest"))
	}
	r.exact()
	<-beating
	if calls.Load() != 1 || len(r.log.Lines("the coordinator counts a disputed task itself")) == 0 {
		t.Errorf("the coordinator has counted %d tasks without a limit, and the log does not say so", calls.Load())
	}
}

// Forged counts that use up the votes of a task that takes the coordinator too long to count in a
// minute don't keep the run from its end: workers can't settle that conflict any more, so the
// coordinator counts as long as it takes.
func TestForgedVotesDoNotBlockTheRun(t *testing.T) {
	var calls, timed atomic.Int64
	r := start(t, 6, func(c *coordinator.Config) {
		count := counting(t, &calls)
		c.Referee = func(ctx context.Context, task *queens.Task, _ ...string) (queens.TaskCount, error) {
			if _, limited := ctx.Deadline(); limited { // as if the minute were over
				timed.Add(1)
				return queens.TaskCount{}, context.DeadlineExceeded
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
