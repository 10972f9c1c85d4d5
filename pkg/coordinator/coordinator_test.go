package coordinator_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/coordinator"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// Whatever the transport repeats, loses, reorders or makes up, the total is exact or there
// is none. Each of these tests uses a real server.

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

// A task that left the queue without a result is published again, and only such a task:
// the others may wait in the queue for any time.
func TestLostResultIsCountedAgain(t *testing.T) {
	r := start(t, 6, nil)
	first := r.take(3)
	for _, d := range first {
		if err := d.lease.Ack(t.Context()); err != nil { // without storing a result
			t.Fatal(err)
		}
	}
	again := r.take(r.tasks(), first...)
	repeated := 0
	for _, d := range again {
		if slices.ContainsFunc(first, func(f takenTask) bool { return f.task.ID == d.task.ID }) {
			repeated++
		}
	}
	// The coordinator may learn later than the workers that what it published is there.
	testkit.Eventually(t, "the coordinator has published them again", func() bool { return r.progress().Republished >= uint64(len(first)) })
	for _, d := range again {
		r.publish(r.result(d, "w"))
	}
	got := r.exact()
	if repeated != len(first) || got.Snapshot.Republished != uint64(len(first)) {
		t.Errorf("%d tasks came again and %d were reported, want %d", repeated, got.Snapshot.Republished, len(first))
	}
	if said := len(r.log.Lines(leftWithoutResult)); said != 1 {
		t.Errorf("the log says so %d times", said)
	}
}

const leftWithoutResult = "tasks left the queue without a result"

// A task of which a result came, and was refused, is published again. The log does not say that it
// left the queue without a result.
func TestRefusedResultIsNoLostOne(t *testing.T) {
	r := start(t, 6, nil)
	first := r.next()
	refused := r.result(first, "w")
	refused.Chunk, refused.Counts[0].Hash = first.chunk, 1
	r.publish(refused)
	if err := first.lease.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.ready = nil // the rest of its chunk
	testkit.Eventually(t, "it is published again", func() bool { return r.progress().Republished > 0 })
	r.serve("w", nil)
	r.exact()
	if said := r.log.Lines(leftWithoutResult); len(said) > 0 {
		t.Errorf("the log says %q", said)
	}
}

// A task that waits in the queue is not published again.
func TestWaitingTaskIsNotRepublished(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	r := start(t, 5, nil)
	time.Sleep(5 * checkAfter) // the queue is checked, and nothing happens
	for _, d := range r.take(r.tasks()) {
		r.publish(r.result(d, "w"))
	}
	if got := r.exact(); got.Snapshot.Republished != 0 {
		t.Errorf("%d tasks were published again while they waited", got.Snapshot.Republished)
	}
}

// After its timeout a task is published again although the queue has it.
func TestTaskIsRepublishedAfterItsTimeout(t *testing.T) {
	r := start(t, 5, func(c *coordinator.Config) { c.RepublishAfter = 2 * checkAfter })
	first := make(map[uint64]uint64) // chunk of each task
	counted := make(map[uint64]bool)
	for len(counted) < r.tasks() { // all tasks are held: none is acknowledged
		next := r.next()
		if first[next.task.ID] == 0 {
			first[next.task.ID] = next.chunk
		}
		if first[next.task.ID] != next.chunk && !counted[next.task.ID] {
			counted[next.task.ID] = true
			r.publish(r.result(next, "w"))
		}
	}
	r.exact()
}

// After a lost acknowledgement the task comes again when its lease has lapsed. The second
// result is a duplicate of the first.
func TestLostAckIsADuplicate(t *testing.T) {
	r := start(t, 5, nil)
	tasks := r.take(r.tasks())
	kept := tasks[0]
	r.publish(r.result(kept, "first")) // and never acknowledged
	again := r.next()
	for again.task.ID != kept.task.ID {
		again = r.next()
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
	misfits := map[string]func(*queens.ChunkResult){
		"unknown task":   func(r *queens.ChunkResult) { r.First = 1 << 40 },
		"other hash":     func(r *queens.ChunkResult) { r.Counts[0].Hash++ },
		"other manifest": func(r *queens.ChunkResult) { r.Manifest[0]++ },
		"of other task":  func(r *queens.ChunkResult) { r.First ^= 1 },
	}
	for name, change := range misfits {
		t.Run(name, func(t *testing.T) {
			r := start(t, 6, nil)
			tasks := r.take(r.tasks())
			misfit := r.result(tasks[0], "wrong")
			misfit.Counts[0].Count += 1000
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

// Messages of other runs, of another protocol version, and garbage are ignored.
func TestForeignMessagesAreIgnored(t *testing.T) {
	r := start(t, 6, nil)
	tasks := r.take(r.tasks())
	wrong := func(run string, protocol uint32) []byte {
		result := resultOf(&tasks[0].task, queens.TaskCount{Hash: tasks[0].task.Hash(), Count: 1000, Kernel: "wrong"}, "wrong")
		result.Run = run
		sealed := r.seal(result).Sealed
		m := &nqueensv1.ChunkResult{
			Protocol: protocol, Statement: sealed.Statement, Key: sealed.Key, Signature: sealed.Signature,
		}
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	ours, theirs := "nq.result."+r.name, "nq.result.other-run"
	for _, m := range []*nats.Msg{
		{Subject: theirs, Data: wrong("other-run", bus.Protocol)},
		{Subject: ours, Data: wrong("other-run", bus.Protocol)},
		{Subject: ours, Data: wrong(r.name, bus.Protocol+1)},
		{Subject: ours, Data: wrong(r.name, 0)},
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
		t.Errorf("%d results reached the ledger and were refused there", got.Refused)
	}
	if got := r.bus.Rejected(); got != 5 {
		t.Errorf("rejected %d messages, want the 5 on the run's subject", got)
	}
}

// A run leaves no goroutine behind, whether it completes or is stopped.
func TestNoGoroutineStays(t *testing.T) {
	r := start(t, 6, nil)
	r.serve("w", nil)
	r.exact()
	bustest.NoGoroutines(t, "nqueens/pkg/coordinator.")
	r = start(t, 6, nil)
	r.take(1)
	r.cancel()
	<-r.done
	bustest.NoGoroutines(t, "nqueens/pkg/coordinator.")
}

// If an operator deletes the streams during a run, they are made again, and the run
// completes.
func TestDeletedStreamsAreMadeAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	r := start(t, 6, nil)
	for _, d := range r.take(4) {
		r.publish(r.result(d, "before"))
	}
	for _, stream := range []string{"NQ_TASKS", "NQ_RESULTS"} {
		if err := r.admin.DeleteStream(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
	}
	r.serve("after", nil) // what was accepted stays so; the rest is published again
	r.exact()
}
