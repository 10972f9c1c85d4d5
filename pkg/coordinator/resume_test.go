package coordinator_test

import (
	"context"
	"errors"
	"math/big"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/coordinator"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// A coordinator that resumes a run publishes the tasks without a result, and no others:
// results that were stored while no coordinator ran count.
func TestResume(t *testing.T) {
	t.Parallel()
	r := start(t, 10, nil)
	tasks := r.take(r.tasks())
	const before, between = 5, 7
	for _, d := range tasks[:before] {
		r.publish(r.result(d, "before"))
	}
	testkit.Eventually(t, "the first results are recorded", func() bool { return r.progress().Done == before })
	r.cancel()
	<-r.done
	for _, d := range tasks[before : before+between] {
		r.publish(r.result(d, "between"))
	}
	r.restart()
	rest := r.take(r.tasks()-before-between, tasks...)
	for _, d := range rest {
		for _, old := range tasks[:before+between] {
			if d.task.ID == old.task.ID {
				t.Errorf("task %d was published again although it has a result", d.task.ID)
			}
		}
		r.publish(r.result(d, "after"))
	}
	got := r.exact()
	if got.Resumed != before || got.Workers != 3 {
		t.Errorf("resumed from %d tasks, with %d workers in all, want %d and 3", got.Resumed, got.Workers, before)
	}
}

// A coordinator stops with an error if another has taken over its run, or if the run was
// cancelled, but not if the server fails.
func TestLostClaim(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	for name, want := range map[string]error{"taken over": run.ErrIncomplete, "cancelled": run.ErrCancelled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, 8, nil)
			trouble := errors.New("no answer")
			r.claim.lost.Store(&trouble)
			before := r.claim.renewals.Load()
			testkit.Eventually(t, "the claim is renewed again", func() bool { return r.claim.renewals.Load() >= before+2 || r.finished() })
			if r.finished() {
				t.Fatalf("it ended: %v", r.err)
			}
			r.claim.lost.Store(&want)
			if got, err := r.end(); !errors.Is(err, want) || got.Total != nil {
				t.Errorf("total %v, error %v, want none and %v", got.Total, err, want)
			}
		})
	}
}

// OnComplete is called while the claim is still held. If the claim is lost in the meantime,
// or OnComplete fails, there is no total.
func TestOnComplete(t *testing.T) {
	ours := errors.New("the total can't be stored")
	for name, want := range map[string]error{"done": nil, "failed": ours, "taken over": run.ErrIncomplete} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var given *big.Int
			var called atomic.Bool
			r := start(t, 8, func(c *coordinator.Config) {
				c.OnComplete = func(ctx context.Context, total *big.Int) error {
					given = total
					called.Store(true)
					if name == "taken over" {
						<-ctx.Done()
						return context.Cause(ctx)
					}
					return want
				}
			})
			for _, d := range r.take(r.tasks()) {
				r.publish(r.result(d, "w"))
			}
			if errors.Is(want, run.ErrIncomplete) {
				testkit.Eventually(t, "OnComplete is called", called.Load)
				r.claim.lost.Store(&want)
			}
			got, err := r.end()
			if !errors.Is(err, want) || (got.Total != nil) != (want == nil) || given == nil || given.Int64() != 92 {
				t.Errorf("total %v, error %v, OnComplete got %v; want error %v", got.Total, err, given, want)
			}
		})
	}
}

// A coordinator that resumes a run of which only the total is missing renews its claim while the total is made, and
// says that all tasks are done. No quarantine can be lifted any more: who asks for it is told so at once.
func TestOnlyTheTotalIsMissing(t *testing.T) {
	t.Parallel()
	r := start(t, 6, nil)
	r.serve("w", nil)
	r.exact()
	r.open()
	r.claim.done.Store(0)
	var lifted error
	r.cfg.OnComplete = func(ctx context.Context, _ *big.Int) error {
		ctx, cancel := context.WithTimeout(ctx, testkit.Stall)
		defer cancel()
		for before := r.claim.renewals.Load(); r.claim.renewals.Load() == before && ctx.Err() == nil; {
			time.Sleep(time.Millisecond)
		}
		lifted = r.lift(ctx, identitytest.Of("w").Key())
		return context.Cause(ctx)
	}
	r.run()
	r.exact()
	if done := r.claim.done.Load(); done != r.m.Tasks || lifted == nil || errors.Is(lifted, context.DeadlineExceeded) {
		t.Errorf("the claim says that %d of %d tasks are done; the quarantine: %v", done, r.m.Tasks, lifted)
	}
}
