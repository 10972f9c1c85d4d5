package coordinator_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/bus/bustest"
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
		if err := d.lease.Ack(t.Context()); err != nil { // given up, and no result stored
			t.Fatal(err)
		}
	}
	again := r.take(r.tasks())
	repeated := 0
	for _, d := range again {
		if d.task.Attempt == 2 {
			repeated++
		}
	}
	// The coordinator may learn later than the workers that what it published is there.
	r.until("the repeats are noted", func(string) bool { return r.progress().Republished >= uint64(len(first)) })
	for _, d := range again {
		r.publish(r.result(d, "w"))
	}
	got := r.exact()
	if repeated != len(first) || got.Progress.Republished != uint64(len(first)) {
		t.Errorf("%d tasks came again and %d were reported, want %d", repeated, got.Progress.Republished, len(first))
	}
}

// A task that waits is not published again: the queue is asked before.
func TestWaitingTaskIsNotRepeated(t *testing.T) {
	r := start(t, 5, nil)
	time.Sleep(5 * overdue) // nothing to wait for: that nothing happens is the point
	for _, d := range r.take(r.tasks()) {
		r.publish(r.result(d, "w"))
	}
	if got := r.exact(); got.Progress.Republished != 0 {
		t.Errorf("%d tasks were published again while they waited", got.Progress.Republished)
	}
}

// Past all patience a task is published again although the queue says it has it.
func TestPatienceEnds(t *testing.T) {
	r := start(t, 5, func(c *coordinator.Config) { c.RepublishAfter = 2 * overdue })
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

// A run leaves no goroutine behind, however it ends.
func TestNoGoroutineStays(t *testing.T) {
	r := start(t, 6, nil)
	r.serve("w")
	r.exact()
	bustest.NoGoroutines(t, "nqueens/pkg/coordinator.")
	r = start(t, 6, nil)
	r.take(1)
	r.cancel()
	<-r.done
	bustest.NoGoroutines(t, "nqueens/pkg/coordinator.")
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
