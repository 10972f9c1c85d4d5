package coordinator_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/coordinator"
	"nqueens/pkg/queens"
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
	if repeated != len(first) || got.Repeated != uint64(len(first)) {
		t.Errorf("%d tasks came again and %d were reported, want %d", repeated, got.Repeated, len(first))
	}
}

// A task that waits is not published again: the queue is asked before.
func TestWaitingTaskIsNotRepeated(t *testing.T) {
	r := start(t, 5, nil)
	time.Sleep(5 * overdue) // nothing to wait for: that nothing happens is the point
	for _, d := range r.take(r.tasks()) {
		r.publish(r.result(d, "w"))
	}
	if got := r.exact(); got.Repeated != 0 {
		t.Errorf("%d tasks were published again while they waited", got.Repeated)
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

// A result of a task that is not out, and was never accepted, was not earned.
func TestResultBeforeTaskIsRefused(t *testing.T) {
	r := start(t, 16, nil) // has more tasks than the window
	early := r.take(1)[0]
	last := r.lastTask()
	early.task.ID, early.task.Board, early.task.Prefixes = last.ID, last.Board, last.Prefixes
	r.publish(r.result(early, "prophet"))
	r.until("the refusal", func(string) bool { return strings.Contains(r.log.String(), "never given out") })
	r.cancel()
	if got, _ := r.end(); got.Refused != 1 {
		t.Errorf("refused %d results, want 1", got.Refused)
	}
}

// Messages of other runs, of another protocol version, and garbage pass by.
func TestForeignMessagesAreIgnored(t *testing.T) {
	r := start(t, 6, nil)
	tasks := r.take(r.tasks())
	wrong := func(change func(*nqueensv1.Result)) []byte {
		m := &nqueensv1.Result{
			Protocol: 1, Run: r.cfg.Run, Task: tasks[0].task.ID, Attempt: 1, Hash: tasks[0].task.Hash(),
			Count: 1000, Worker: "wrong", Kernel: "wrong",
		}
		change(m)
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	ours, theirs := "nq.result."+r.cfg.Run, "nq.result.other-run"
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

// Two counts of one task withhold the total, and are told with all that is known.
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
	for _, word := range []string{"task 0", "honest", "liar"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not name %s", err, word)
		}
	}
	if len(got.Disputes) != 1 {
		t.Errorf("%d disputes, want 1", len(got.Disputes))
	}
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
