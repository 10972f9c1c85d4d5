package coordinator_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"nqueens/pkg/coordinator"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// counting returns a referee that counts right, and notes how often.
func counting(t *testing.T, calls *atomic.Int64) func(context.Context, *queens.Task, ...string) (run.TaskCount, error) {
	return func(ctx context.Context, task *queens.Task, _ ...string) (run.TaskCount, error) {
		calls.Add(1)
		n, err := kerneltest.NewCounter(t, kernel.Reference()).Count(ctx, &task.Board, task.Prefixes, new(atomic.Uint64))
		return run.TaskCount{Hash: task.Hash(), Count: n, Kernel: kernel.Reference().Name}, err
	}
}

// Where nobody is admitted, any number of keys that count wrong are quarantined, and no other key is: the run
// goes on with those that count right, and the log says once how to keep strangers out.
func TestWrongKeysDoNotStopAnOpenRun(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	r := start(t, 10, func(c *coordinator.Config) { c.Admits, c.Referee = nil, counting(t, &calls) })
	tasks := r.take(r.tasks())
	const liars = 12
	r.publish(r.result(tasks[liars], "liar 0")) // is revoked with its key
	for i := range liars {
		wrong := r.result(tasks[i], fmt.Sprint("liar ", i))
		wrong.Counts[0].Count += uint64(i + 1)
		r.publish(wrong)
		r.publish(r.result(tasks[i], "honest"))
	}
	// A copy of the ledger from before must not look newer than this one.
	testkit.Eventually(t, "the record says that tasks have lost their results", func() bool { return r.claim.revoked.Load() > 0 })
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
