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
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// A result that comes before its task is given out is held until the task's turn, and
// spares it the road; one that counted something else is refused then, and the task is
// counted as any other.
func TestEarlyResults(t *testing.T) {
	for name, change := range map[string]func(*queens.Result){
		"right": func(*queens.Result) {},
		"wrong": func(r *queens.Result) { r.Hash++; r.Count += 1000 },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, 14, func(c *coordinator.Config) { c.Roster = progress.NewRoster() })
			last := r.lastTask() // beyond the window
			last.Run, last.Attempt = r.name, 1
			early := r.result(delivery{task: last}, "early")
			change(early)
			r.publish(early)
			published := r.tasks()
			if name == "right" {
				published--
			}
			for range published {
				d := r.take(1)[0]
				if d.task.ID == last.ID && name == "right" {
					t.Error("the task was published although it has a result")
				}
				r.publish(r.result(d, "w"))
				if err := d.lease.Ack(t.Context()); err != nil { // else it comes again on a slow machine
					t.Fatal(err)
				}
			}
			got := r.exact()
			if refused := name == "wrong"; (got.Refused == 1) != refused {
				t.Errorf("refused %d results", got.Refused)
			}
		})
	}
}

// Results of more tasks than the window has room for, all there when the coordinator
// begins, are entered at once, however far their tasks are, and in whatever order they
// came; one that counted something else does not stop the position in the stream.
func TestResultsOfALostLedger(t *testing.T) {
	r := start(t, 32, func(c *coordinator.Config) { c.CheckAfter = time.Hour }) // sweeps help nobody here
	r.cancel()
	<-r.done
	const stored = 300 // of tasks from the end on, and more than the window
	var last []queens.Task
	for task := range split.Tasks(&r.m) {
		task.Run, task.Attempt = r.name, 1
		last = append(last, task)
	}
	if len(last) < stored+minWindow {
		t.Fatalf("the run has %d tasks only", len(last))
	}
	last = last[len(last)-stored:]
	rand.Shuffle(stored, func(i, j int) { last[i], last[j] = last[j], last[i] })
	for _, task := range last {
		r.publish(&queens.Result{Run: r.name, Task: task.ID, Hash: task.Hash(), Attempt: 1, Worker: "lost", Kernel: "k"})
	}
	r.publish(&queens.Result{Run: r.name, Task: minWindow + 1, Hash: 1, Attempt: 1, Worker: "wrong", Kernel: "k"})
	began := time.Now()
	r.resume()
	r.until("their results", func(string) bool { return r.progress().Done == stored })
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("they were entered after %v", took)
	}
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

// A coordinator that takes up a ledger publishes what has no result, and nothing else:
// what was stored on the server while nobody was there counts.
func TestResume(t *testing.T) {
	r := start(t, 10, nil)
	tasks := r.take(r.tasks())
	const before, between = 5, 7
	for _, d := range tasks[:before] {
		r.publish(r.result(d, "before"))
	}
	r.until("the first results", func(string) bool { return r.progress().Done == before })
	r.cancel()
	<-r.done
	for _, d := range tasks[before : before+between] {
		r.publish(r.result(d, "between"))
	}
	r.again()
	rest := r.take(r.tasks() - before - between)
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

// However often the coordinator dies, the total is exact, and it never publishes a
// task that the ledger has.
func TestTwentyDeaths(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	r := start(t, 12, nil)
	var done uint64
	for range 20 {
		for range rng.IntN(2) {
			r.publish(r.result(r.take(1)[0], "w"))
		}
		r.again()
		if now := r.ledger.Len(); now < done {
			t.Fatalf("%d tasks were accepted, and %d after the coordinator died", done, now)
		} else {
			done = now
		}
	}
	r.serve("w")
	r.exact()
}

// A coordinator whose run another has taken over says so and stops, and so does one
// whose run was cancelled. Trouble with the server is no reason.
func TestLostClaim(t *testing.T) {
	for name, want := range map[string]error{"taken over": queens.ErrIncomplete, "cancelled": queens.ErrCancelled} {
		t.Run(name, func(t *testing.T) {
			r := start(t, 8, nil)
			trouble := errors.New("no answer")
			r.claim.lost.Store(&trouble)
			if r.finished(3 * time.Second) { // longer than the interval of renewals
				t.Fatalf("it ended: %v", r.err)
			}
			r.claim.lost.Store(&want)
			if got, err := r.end(); !errors.Is(err, want) || got.Total != nil {
				t.Errorf("total %v, error %v, want none and %v", got.Total, err, want)
			}
		})
	}
}

// A run that is told to stop says how far it came, and gives no total.
func TestStoppedRunHasNoTotal(t *testing.T) {
	r := start(t, 8, nil)
	tasks := r.take(3)
	for _, d := range tasks {
		r.publish(r.result(d, "w"))
	}
	var seen atomic.Uint64
	r.until("progress", func(string) bool { seen.Store(r.progress().Done); return seen.Load() == 3 })
	r.cancel()
	got, err := r.end()
	if !errors.Is(err, errStopped) || got.Total != nil || got.Progress.Done != 3 {
		t.Errorf("total %v, %d tasks done, error %v, want none, 3, %v", got.Total, got.Progress.Done, err, errStopped)
	}
}

// What is to be done with the total is done while the claim is still held: when it is lost
// meanwhile, or that fails, there is no total.
func TestFinish(t *testing.T) {
	ours := errors.New("not to be had")
	for name, want := range map[string]error{"done": nil, "failed": ours, "taken over": queens.ErrIncomplete} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var given *big.Int
			r := start(t, 8, func(c *coordinator.Config) {
				c.OnComplete = func(ctx context.Context, total *big.Int) error {
					given = total
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
			if errors.Is(want, queens.ErrIncomplete) {
				r.until("the end of the tasks", func(string) bool { return r.progress().Done == r.progress().Tasks })
				r.claim.lost.Store(&want)
			}
			got, err := r.end()
			if !errors.Is(err, want) || (got.Total != nil) != (want == nil) || given == nil || given.Int64() != 92 {
				t.Errorf("total %v, error %v, finished with %v; want error %v", got.Total, err, given, want)
			}
		})
	}
}
