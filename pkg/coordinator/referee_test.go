package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/coordinator"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// counting returns a referee that counts right, and notes how often.
func counting(t *testing.T, calls *atomic.Int64) func(context.Context, *queens.Task, ...string) (queens.TaskCount, error) {
	return func(ctx context.Context, task *queens.Task, _ ...string) (queens.TaskCount, error) {
		calls.Add(1)
		n, err := kerneltest.NewCounter(t, kernel.Reference()).Count(ctx, &task.Board, task.Prefixes, new(atomic.Uint64))
		return queens.TaskCount{Hash: task.Hash(), Count: n, Kernel: kernel.Reference().Name}, err
	}
}

// The coordinator's own count of a disputed task is accepted, for any number of liars who agree, in any
// order of the counts, also where no total is published, and also if the coordinator dies in between.
func TestRefereeOverrulesLiars(t *testing.T) {
	for _, c := range []struct {
		votes []string // in order of arrival
		dies  bool
	}{
		{[]string{"honest", "liar", "other liar"}, false},
		{[]string{"liar", "honest"}, false},
		{[]string{"liar", "other liar", "honest"}, true},
		{[]string{"honest", "liar"}, true},
	} {
		t.Run(fmt.Sprint(c.votes, c.dies), func(t *testing.T) {
			var calls atomic.Int64
			var blocked atomic.Bool
			blocked.Store(c.dies)
			count := counting(t, &calls)
			r := start(t, 6, func(cfg *coordinator.Config) {
				cfg.Known = nil
				cfg.Referee = func(ctx context.Context, task *queens.Task, _ ...string) (queens.TaskCount, error) {
					if blocked.Load() {
						<-ctx.Done()
						return queens.TaskCount{}, context.Cause(ctx)
					}
					return count(ctx, task)
				}
			})
			tasks := r.take(r.tasks())
			for _, name := range c.votes {
				result := r.result(tasks[0], name)
				if strings.Contains(name, "liar") {
					result.Counts[0].Count++
				}
				r.publish(result)
			}
			for _, d := range tasks[1:] {
				r.publish(r.result(d, "honest"))
			}
			if c.dies {
				testkit.Eventually(t, "the conflict is logged and all tasks are done", func() bool {
					return len(r.log.Lines("dispute: ")) > 0 && r.progress().Done == r.m.Tasks-1
				})
				blocked.Store(false)
				r.restart()
			}
			r.cfg.Known, _ = queens.KnownTotal(6)
			got := r.exact()
			if calls.Load() == 0 || got.Snapshot.Disputes != 1 {
				t.Errorf("the coordinator counted %d times, and there were %d disputes", calls.Load(), got.Snapshot.Disputes)
			}
			if len(r.log.Lines("dispute settled")) != 1 {
				t.Error("the log does not say once that the conflict is settled")
			}
		})
	}
}

// Two liars who contradict each other about a task that was not published yet, before an honest worker has
// counted anything, are both quarantined, also if the coordinator dies in between, and the total is exact.
func TestEarlyContradictionOfTwoLiars(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprint("dies: ", dies), func(t *testing.T) {
			var calls atomic.Int64
			r := start(t, 14, func(c *coordinator.Config) { c.Referee = counting(t, &calls) })
			last := r.lastTask() // beyond the window
			last.Run = r.name
			for i := range uint64(2) {
				early := r.result(takenTask{task: last}, fmt.Sprint("liar ", i))
				early.Counts[0].Count += 1 + i
				r.publish(early)
			}
			testkit.Eventually(t, "both liars are quarantined", func() bool { return len(r.log.Lines("worker quarantined")) == 2 })
			if dies {
				r.restart()
			}
			r.serve("honest", nil)
			if got := r.exact(); got.Snapshot.Disputes != 1 || calls.Load() != 1 || got.Workers != 1 {
				t.Errorf("%d disputes, %d counts by the coordinator, results of %d workers", got.Snapshot.Disputes, calls.Load(), got.Workers)
			}
		})
	}
}

// Where the coordinator can't count a disputed task, other workers do.
func TestWorkersSettleWhatTheRefereeCannot(t *testing.T) {
	r := start(t, 6, func(c *coordinator.Config) {
		c.DisputeTimeout = time.Hour
		c.Referee = func(context.Context, *queens.Task, ...string) (queens.TaskCount, error) {
			return queens.TaskCount{}, errors.New("not here")
		}
	})
	tasks := r.take(r.tasks())
	liar := r.result(tasks[0], "liar")
	liar.Counts[0].Count++
	r.publish(liar)
	r.publish(r.result(tasks[0], "honest"))
	for _, d := range tasks[1:] {
		r.publish(r.result(d, "honest"))
	}
	again := r.next()
	for again.task.ID != tasks[0].task.ID || again.chunk == tasks[0].chunk {
		again = r.next()
	}
	r.publish(r.result(again, "third"))
	r.exact()
	if len(r.log.Lines("does not settle the dispute itself")) != 1 {
		t.Error("the log does not say that the coordinator does not settle the dispute")
	}
}

// Thousands of forged counts of one task slow nothing down: the run ends as soon as its tasks
// are counted, and its ledger keeps few of them.
func TestForgedVotesAreBounded(t *testing.T) {
	var calls atomic.Int64
	r := start(t, 6, func(c *coordinator.Config) { c.Referee = counting(t, &calls) })
	tasks := r.take(r.tasks())
	const forged = 5000
	r.publish(r.result(tasks[0], "honest"))
	for i := range forged {
		result := r.result(tasks[0], fmt.Sprint("liar ", i))
		result.Counts[0].Count += uint64(i + 1)
		r.publish(result)
	}
	for _, d := range tasks[1:] {
		r.publish(r.result(d, "honest"))
	}
	r.exact()
	if lines := len(r.log.Lines(`"task":`)); lines > 200 {
		t.Errorf("%d lines of the log are about %d forged counts", lines, forged)
	}
}

// Where nobody is admitted, any number of keys that count wrong are quarantined, and no other key is: the run
// goes on with those that count right, and the log says once how to keep strangers out.
func TestWrongKeysDoNotStopAnOpenRun(t *testing.T) {
	var calls atomic.Int64
	r := start(t, 10, func(c *coordinator.Config) { c.Admits, c.Referee = nil, counting(t, &calls) })
	tasks := r.take(r.tasks())
	const liars = 12
	for i := range liars {
		wrong := r.result(tasks[i], fmt.Sprint("liar ", i))
		wrong.Counts[0].Count += uint64(i + 1)
		r.publish(wrong)
		r.publish(r.result(tasks[i], "honest"))
	}
	for _, d := range tasks[liars:] {
		r.publish(r.result(d, "honest"))
	}
	r.exact()
	if lines := r.log.Lines("worker quarantined"); len(lines) != liars || len(r.log.Lines(`"worker":"honest".*worker quarantined`)) > 0 {
		t.Errorf("quarantined: %q", lines)
	}
	if lines := r.log.Lines("many keys that are not admitted counted wrong"); len(lines) != 1 {
		t.Errorf("how to keep strangers out: %q", lines)
	}
}

// No worker can vote as the coordinator.
func TestNoWorkerIsTheReferee(t *testing.T) {
	r := start(t, 6, nil)
	tasks := r.take(r.tasks())
	forged := r.result(tasks[0], queens.Referee)
	forged.Counts[0].Count++
	if err := r.bus.Results().Publish(t.Context(), r.seal(forged)); err == nil {
		testkit.Eventually(t, "the forged result is refused", func() bool {
			return len(r.log.Lines("rejected a message")) > 0
		})
	}
	for _, d := range tasks {
		r.publish(r.result(d, "honest"))
	}
	if got := r.exact(); got.Snapshot.Disputes != 0 {
		t.Error("the forged result was counted")
	}
}
