package coordinator_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Whatever the transport repeats, loses, reorders or makes up, the total is exact
// or there is none. Each of these goes through the real server.

func TestDuplicateResultsChangeNothing(t *testing.T) {
	r := start(t, 8, nil)
	tasks := r.take(r.tasks())
	for _, d := range tasks {
		for _, worker := range []string{"first", "second"} {
			r.publish(r.result(d, worker))
		}
	}
	got := r.exact()
	if got.Duplicates == 0 {
		t.Error("no duplicate was seen")
	}
}

func TestResultsInAnyOrder(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := start(t, 8, nil)
			tasks := r.take(r.tasks())
			rand.New(rand.NewPCG(seed, 0)).Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
			for _, d := range tasks {
				r.publish(r.result(d, "w"))
			}
			r.exact()
		})
	}
}

// A task that left the queue without a result is published again, and only such a
// task: the others wait in the queue for as long as they like.
func TestLostResultIsCountedAgain(t *testing.T) {
	r := start(t, 6, nil)
	first := r.take(3)
	for _, d := range first {
		if err := d.lease.Done(t.Context()); err != nil { // given up, and no result stored
			t.Fatal(err)
		}
	}
	again := r.take(r.tasks())
	repeated := 0
	for _, d := range again {
		if d.task.Attempt == 2 {
			repeated++
		}
		r.publish(r.result(d, "w"))
	}
	got := r.exact()
	if repeated != len(first) || got.Progress.Repeated != uint64(len(first)) {
		t.Errorf("%d tasks came again and %d were reported, want %d", repeated, got.Progress.Repeated, len(first))
	}
}

// A task that waits is not published again: the queue is asked before.
func TestWaitingTaskIsNotRepeated(t *testing.T) {
	r := start(t, 5, nil)
	time.Sleep(5 * overdue) // nothing to wait for: that nothing happens is the point
	for _, d := range r.take(r.tasks()) {
		r.publish(r.result(d, "w"))
	}
	if got := r.exact(); got.Progress.Repeated != 0 {
		t.Errorf("%d tasks were published again while they waited", got.Progress.Repeated)
	}
}

// Past all patience a task is published again although the queue says it has it.
func TestPatienceEnds(t *testing.T) {
	r := start(t, 5, func(c *coordinator.Config) { c.Patience = 2 * overdue })
	held := r.take(r.tasks()) // and kept, each
	for _, d := range r.take(len(held)) {
		if d.task.Attempt < 2 {
			t.Errorf("task %d came again with attempt %d", d.task.ID, d.task.Attempt)
		}
		r.publish(r.result(d, "other"))
	}
	r.exact()
}

// A lost acknowledgement brings the task again when its lease has lapsed; the
// second result says the same as the first.
func TestLostAckIsADuplicate(t *testing.T) {
	r := start(t, 5, nil)
	tasks := r.take(r.tasks())
	kept := tasks[0]
	r.publish(r.result(kept, "first")) // and never Done
	again := r.take(1)[0]
	if again.task.ID != kept.task.ID {
		t.Fatalf("task %d came again, want %d, whose lease lapses first", again.task.ID, kept.task.ID)
	}
	r.publish(r.result(again, "second"))
	for _, d := range tasks[1:] {
		r.publish(r.result(d, "first"))
	}
	if got := r.exact(); got.Duplicates == 0 {
		t.Error("no duplicate was seen")
	}
}

func TestMisfitsAreRefused(t *testing.T) {
	misfits := map[string]func(*queens.Result){
		"unknown task":  func(r *queens.Result) { r.Task = 1 << 40 },
		"other hash":    func(r *queens.Result) { r.Hash++ },
		"of other task": func(r *queens.Result) { r.Task ^= 1 },
	}
	for name, change := range misfits {
		t.Run(name, func(t *testing.T) {
			r := start(t, 6, nil)
			tasks := r.take(r.tasks())
			misfit := r.result(tasks[0], "wrong")
			misfit.Count += 1000
			change(misfit)
			r.publish(misfit)
			for _, d := range tasks {
				r.publish(r.result(d, "right"))
			}
			if got := r.exact(); got.Refused != 1 {
				t.Errorf("refused %d results, want 1", got.Refused)
			}
		})
	}
}

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
	r := start(t, 32, func(c *coordinator.Config) { c.Overdue = time.Hour }) // sweeps help nobody here
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
	l, err := ledger.View(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it was only read
	stream, err := r.admin.Stream(t.Context(), "NQ_RESULTS")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := l.Position().Sequence, stream.CachedInfo().State.LastSeq; got != want || l.Refused() != 1 {
		t.Errorf("position %d of %d, %d refused, want the end and 1", got, want, l.Refused())
	}
}

// Where both a deadly task and a dispute are left that nobody here can settle, the run
// ends and names both.
func TestBlockedByBoth(t *testing.T) {
	t.Parallel()
	r := start(t, 6, nil)
	tasks := r.take(r.tasks())
	deadly, disputed := tasks[3].task.ID, tasks[5].task.ID
	for _, name := range []string{"a", "b", "c"} {
		r.cfg.Roster.Saw(queens.Heartbeat{Worker: name, Kernel: "k", Threads: 1, Held: []queens.Held{{Run: r.name, Task: deadly}}})
	}
	for _, d := range tasks {
		if d.task.ID == deadly {
			continue
		}
		r.publish(r.result(d, "w"))
		if d.task.ID == disputed {
			liar := r.result(d, "liar")
			liar.Count++
			r.publish(liar)
		}
	}
	if !r.finished(40 * time.Second) { // workers are held to have vanished after 15
		t.Fatalf("the run did not end; log:\n%s", r.log)
	}
	for _, word := range []string{fmt.Sprintf("task %d was in the hands", deadly), fmt.Sprintf("task %d was counted", disputed)} {
		if !errors.Is(r.err, queens.ErrIncomplete) || !strings.Contains(r.err.Error(), word) {
			t.Errorf("error %v does not say %s", r.err, word)
		}
	}
}

// Messages of other runs, of another protocol version, and garbage pass by.
func TestForeignMessagesAreIgnored(t *testing.T) {
	r := start(t, 6, nil)
	tasks := r.take(r.tasks())
	wrong := func(change func(*nqueensv1.Result)) []byte {
		m := &nqueensv1.Result{
			Protocol: 1, Run: r.name, Task: tasks[0].task.ID, Attempt: 1, Hash: tasks[0].task.Hash(),
			Count: 1000, Worker: "wrong", Kernel: "wrong",
		}
		change(m)
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	ours, theirs := "nq.result."+r.name, "nq.result.other-run"
	for _, m := range []*nats.Msg{
		{Subject: theirs, Data: wrong(func(m *nqueensv1.Result) { m.Run = "other-run" })},
		{Subject: ours, Data: wrong(func(m *nqueensv1.Result) { m.Run = "other-run" })},
		{Subject: ours, Data: wrong(func(m *nqueensv1.Result) { m.Protocol = 2 })},
		{Subject: ours, Data: wrong(func(m *nqueensv1.Result) { m.Protocol = 0 })},
		{Subject: ours, Data: []byte("\xff\x00garbage")},
		{Subject: ours},
	} {
		if _, err := r.admin.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range tasks {
		r.publish(r.result(d, "right"))
	}
	if got := r.exact(); got.Refused != 0 {
		t.Errorf("%d results came through to the accounts and were refused there", got.Refused)
	}
	if got := r.bus.Rejected(); got != 5 {
		t.Errorf("rejected %d messages, want the 5 on the run's subject", got)
	}
}

// Two counts of one task withhold the total, and are told with all that is known, when
// nobody is there to count a third time.
func TestConflictWithholdsTheTotal(t *testing.T) {
	r := start(t, 6, nil)
	tasks := r.take(r.tasks())
	r.publish(r.result(tasks[0], "honest"))
	liar := r.result(tasks[0], "liar")
	liar.Count++
	r.publish(liar)
	for _, d := range tasks[1:] {
		r.publish(r.result(d, "honest"))
	}
	got, err := r.end()
	if !errors.Is(err, queens.ErrIncomplete) || got.Total != nil {
		t.Fatalf("total %v, error %v, want no total and %v", got.Total, err, queens.ErrIncomplete)
	}
	for _, word := range []string{fmt.Sprint("task ", tasks[0].task.ID), "honest", "liar"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not name %s", err, word)
		}
	}
	if got.Progress.Conflicts != 1 {
		t.Errorf("%d disputes, want 1", got.Progress.Conflicts)
	}
}

// A task of which two counts contradict each other is given out again, but not to
// those two; what a third counts settles it, whichever of them was accepted first. The
// same holds when the coordinator dies in between.
func TestConflictIsSettledByAnother(t *testing.T) {
	for _, first := range []string{"honest", "liar"} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprint("first the ", first, ", dies: ", dies), func(t *testing.T) {
				r := start(t, 6, func(c *coordinator.Config) { c.Unsettled = patience })
				tasks := r.take(r.tasks())
				results := map[string]*queens.Result{"honest": r.result(tasks[0], "honest"), "liar": r.result(tasks[0], "liar")}
				results["liar"].Count++
				second := map[string]string{"honest": "liar", "liar": "honest"}[first]
				r.publish(results[first])
				r.publish(results[second])
				for _, d := range tasks[1:] {
					r.publish(r.result(d, "honest"))
				}
				if dies {
					r.until("the conflict", func(log string) bool { return strings.Contains(log, "conflict: ") && r.progress().Done == r.m.Tasks })
					r.again()
				}
				var again delivery
				for again.task.ID != tasks[0].task.ID || len(again.task.NotBy) == 0 {
					again = r.take(1)[0]
				}
				if want := []string{first, second}; !slices.Equal(again.task.NotBy, want) || again.task.Attempt < 2 {
					t.Errorf("the task came with attempt %d, not by %q, want %q", again.task.Attempt, again.task.NotBy, want)
				}
				r.publish(r.result(again, "third"))
				if got := r.exact(); got.Progress.Conflicts != 1 {
					t.Errorf("%d disputes, want 1", got.Progress.Conflicts)
				}
			})
		}
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

// A task in whose search three workers have vanished is set aside, and taken off the
// queue; the run ends without a total when all others are counted, and says which task
// it was, whose, and how to count it alone.
func TestDeadlyTaskIsSetAside(t *testing.T) {
	t.Parallel()
	r := start(t, 6, nil)
	tasks := r.take(r.tasks())
	deadly := tasks[3].task.ID
	for _, name := range []string{"a", "b", "c"} {
		r.cfg.Roster.Saw(queens.Heartbeat{Worker: name, Kernel: "k", Threads: 1, Held: []queens.Held{
			{Run: r.name, Task: deadly}, {Run: "another", Task: tasks[4].task.ID},
		}})
	}
	r.cfg.Roster.Saw(queens.Heartbeat{Worker: "d", Kernel: "k", Threads: 1, Held: []queens.Held{{Run: r.name, Task: tasks[5].task.ID}}})
	for _, d := range tasks {
		if d.task.ID != deadly {
			r.publish(r.result(d, "w"))
			if err := d.lease.Done(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !r.finished(40 * time.Second) { // workers are held to have vanished after 15
		t.Fatalf("the run did not end; log:\n%s", r.log)
	}
	if !errors.Is(r.err, queens.ErrIncomplete) || r.got.Total != nil || r.got.Progress.Done != r.m.Tasks-1 {
		t.Fatalf("total %v, %d tasks done, error %v", r.got.Total, r.got.Progress.Done, r.err)
	}
	for _, word := range []string{"a", "b", "c", fmt.Sprintf("coordinator ledger %s --task %d | worker task", r.name, deadly)} {
		if !strings.Contains(r.err.Error(), word) {
			t.Errorf("error %q does not say %s", r.err, word)
		}
	}
	stream, err := r.admin.Stream(t.Context(), "NQ_TASKS")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := stream.Info(t.Context()); err != nil || info.State.Msgs != 0 {
		t.Errorf("%d tasks stay on the server (error %v)", info.State.Msgs, err)
	}
}

// A run leaves no goroutine behind, however it ends.
func TestNoGoroutineStays(t *testing.T) {
	r := start(t, 6, nil)
	r.serve("w")
	r.exact()
	bustest.Ended(t, "nqueens/pkg/coordinator.")
	r = start(t, 6, nil)
	r.take(1)
	r.cancel()
	<-r.done
	bustest.Ended(t, "nqueens/pkg/coordinator.")
}

// A sum beyond the known total ends the run at once, one below it at the end.
func TestContradictionWithTheKnownTotal(t *testing.T) {
	for name, wrong := range map[string]uint64{"beyond": 1 << 60, "below": 0} {
		t.Run(name, func(t *testing.T) {
			r := start(t, 6, nil)
			tasks := r.take(r.tasks())
			results := make([]*queens.Result, len(tasks))
			changed := false
			for i, d := range tasks {
				results[i] = r.result(d, "w")
				if !changed && results[i].Count > 0 {
					results[i].Count, changed = wrong, true
					if wrong > 0 {
						r.publish(results[i]) // alone it must be enough
						break
					}
				}
			}
			if wrong == 0 {
				for _, result := range results {
					r.publish(result)
				}
			}
			got, err := r.end()
			if !errors.Is(err, queens.ErrContradiction) || got.Total != nil {
				t.Fatalf("total %v, error %v, want no total and %v", got.Total, err, queens.ErrContradiction)
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

// Streams that an operator deletes under a run come back, and the run with them.
func TestDeletedStreamsAreMadeAgain(t *testing.T) {
	r := start(t, 6, nil)
	for _, d := range r.take(4) {
		r.publish(r.result(d, "before"))
	}
	for _, stream := range []string{"NQ_TASKS", "NQ_RESULTS"} {
		if err := r.admin.DeleteStream(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
	}
	r.serve("after") // what was accepted stays so; the rest is published again
	r.exact()
}
