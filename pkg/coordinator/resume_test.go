package coordinator_test

import (
	"context"
	"errors"
	"math/big"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/coordinator"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/testkit"
)

// A result that comes before its task is published is kept until the window reaches the
// task, which is then not published. If it counted something else it is refused, and the
// task is counted as any other.
func TestEarlyResults(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*run.ChunkResult){
		"right": func(*run.ChunkResult) {},
		"wrong": func(r *run.ChunkResult) { r.Counts[0].Hash++; r.Counts[0].Count += 1000 },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, 14, nil)
			last := r.lastTask() // beyond the window
			last.Run = r.name
			early := r.result(takenTask{task: last}, "early") // of another coordinator's chunk
			change(early)
			r.publish(early)
			published := false
			r.serve("w", func(task queens.Task) { published = published || task.ID == last.ID })
			got := r.exact()
			if wrong := name == "wrong"; published != wrong || (got.Refused == 1) != wrong {
				t.Errorf("task published: %v; refused %d results", published, got.Refused)
			}
		})
	}
}

// The results of more tasks than the window has room for, all stored before the
// coordinator starts, are recorded before the window reaches their tasks, and in any
// order. One that counted something else does not hold the stream position back.
func TestResultsOfALostLedger(t *testing.T) {
	t.Parallel()
	r := start(t, 32, func(c *coordinator.Config) { c.CheckAfter = time.Hour }) // no help from sweeps
	r.cancel()
	<-r.done
	const stored = 300 // of tasks from the end on, and more than the window
	var last []queens.Task
	for task := range split.Tasks(&r.m) {
		task.Run = r.name
		last = append(last, task)
	}
	if len(last) < stored+minWindow {
		t.Fatalf("the run has %d tasks only", len(last))
	}
	last = last[len(last)-stored:]
	rand.Shuffle(stored, func(i, j int) { last[i], last[j] = last[j], last[i] })
	for _, task := range last {
		r.publish(resultOf(&task, run.TaskCount{Hash: task.Hash(), Kernel: "k"}, "lost"))
	}
	r.publish(resultOf(&queens.Task{Run: r.name, ID: minWindow + 1}, run.TaskCount{Hash: 1, Kernel: "k"}, "wrong"))
	r.resume()
	testkit.Eventually(t, "their results are recorded, and the last one is refused", func() bool {
		return r.progress().Done == stored && r.progress().Refused != (run.RefusedResults{})
	})
	r.cancel()
	<-r.done
	l, err := ledger.OpenReadOnly(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it was only read
	stream, err := r.admin.Stream(t.Context(), "NQ_RESULTS")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := l.Position().Sequence, stream.CachedInfo().State.LastSeq; got != want || l.Rejected() != 1 {
		t.Errorf("position %d of %d, %d refused, want the end and 1", got, want, l.Rejected())
	}
}

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
// says that all tasks are done.
func TestClaimOfACompleteLedger(t *testing.T) {
	t.Parallel()
	r := start(t, 8, nil)
	for _, d := range r.take(r.tasks()) {
		r.publish(r.result(d, "w"))
	}
	if _, err := r.end(); err != nil {
		t.Fatal(err)
	}
	r.open()
	r.claim.done.Store(0)
	r.cfg.OnComplete = func(ctx context.Context, _ *big.Int) error {
		for before := r.claim.renewals.Load(); r.claim.renewals.Load() == before && ctx.Err() == nil; {
			time.Sleep(time.Millisecond)
		}
		return context.Cause(ctx)
	}
	r.run()
	got, err := r.end()
	if done := r.claim.done.Load(); err != nil || got.Total == nil || done != r.m.Tasks {
		t.Errorf("total %v, error %v, and the claim says that %d of %d tasks are done", got.Total, err, done, r.m.Tasks)
	}
}

// While the total is made, no quarantine can be lifted any more. Who asks for it is told so at once.
func TestLiftWhileTheTotalIsMade(t *testing.T) {
	t.Parallel()
	r := start(t, 6, nil)
	r.serve("w", nil)
	if _, err := r.end(); err != nil {
		t.Fatal(err)
	}
	r.open()
	var lifted error
	r.cfg.OnComplete = func(ctx context.Context, _ *big.Int) error {
		ctx, cancel := context.WithTimeout(ctx, testkit.Stall)
		defer cancel()
		lifted = r.lift(ctx, identitytest.Of("w").Key())
		return nil
	}
	r.run()
	if got, err := r.end(); err != nil || got.Total.String() != "4" {
		t.Errorf("the total is %v, error %v", got.Total, err)
	}
	if lifted == nil || errors.Is(lifted, context.DeadlineExceeded) {
		t.Errorf("the quarantine: %v", lifted)
	}
}
