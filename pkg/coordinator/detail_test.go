package coordinator_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/coordinator"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/progress"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// A detail names all workers, with what is accepted of them, the tasks of each class by state, the
// open disputes with their votes, a prefix that a worker searches, and the quarantined keys. After the end it is that of the end.
func TestDetail(t *testing.T) {
	t.Parallel()
	var states atomic.Pointer[run.TaskStates]
	r := start(t, 7, func(c *coordinator.Config) {
		c.DisputeTimeout = time.Hour
		report := c.OnSnapshot
		c.OnSnapshot = func(s run.Snapshot) { report(s); states.Store(&s.States) }
	})
	tasks := r.take(r.tasks())
	var held []run.HeldChunk // so that they are not published again, however long the test takes
	for _, d := range tasks {
		held = append(held, run.HeldChunk{Run: r.name, Chunk: d.chunk})
	}
	r.present = []run.Heartbeat{
		{Worker: "idle", Kernel: "k", Threads: 1, Held: held},
		{Worker: "liar", Kernel: "k", Threads: 1, Key: identitytest.Of("liar").Key()},
		{Worker: "honest", Kernel: "k", Threads: 1, Key: identitytest.Of("honest").Key(), Held: []run.HeldChunk{
			{Run: r.name, Chunk: 12345, Searching: true, Elapsed: time.Hour}, // unknown to the coordinator
		}},
	}
	// Several are published at once, in any order.
	r.awaitDetail("a chunk in flight is taken for one in search", func(d *run.Detail) bool {
		return d.Search != nil && d.Search.Worker == ""
	})
	searched := tasks[len(tasks)-1]
	r.present = append(r.present, run.Heartbeat{Worker: "busy", Kernel: "k", Threads: 1, Held: []run.HeldChunk{
		{Run: r.name, Chunk: searched.chunk, Searching: true, Elapsed: time.Second},
	}})
	liar := r.result(tasks[0], "liar")
	liar.Counts[0].Count++
	r.publish(r.result(tasks[0], "honest"))
	r.publish(liar)
	r.publish(r.result(tasks[1], "honest"))

	d := r.awaitDetail("a task is in dispute, one is done, and a worker names what it searches", func(d *run.Detail) bool {
		return len(d.Disputes) == 1 && sum(d).Done == 1 && d.Search != nil && d.Search.Worker != ""
	})
	if got := sum(d); got != (run.ClassCounts{Done: 1, Disputed: 1, InFlight: uint64(len(tasks) - 2)}) {
		t.Errorf("the classes have %+v", got)
	}
	if dispute := d.Disputes[0]; dispute.Task != tasks[0].task.ID || len(dispute.Votes) != 2 ||
		dispute.Votes[0].Count+1 != dispute.Votes[1].Count || dispute.Votes[1].Key != identitytest.Of("liar").Key() {
		t.Errorf("in dispute is %+v", dispute)
	}
	if s := d.Search; s == nil || s.Worker != "busy" || s.Task > searched.task.ID || s.Class != r.m.ClassOf(s.Task) {
		t.Errorf("searched is %+v", d.Search)
	} else if len(s.Queens) != 2 {
		t.Errorf("the queens of the prefix are on %v", s.Queens)
	}
	names := []string{"busy", "honest", "idle", "liar"}
	for i, w := range d.Workers {
		if i >= len(names) || w.Name != names[i] || w.Quarantined || (w.Tasks > 0) != (w.Name == "honest") {
			t.Errorf("worker %d is %+v, want %v", i, w, names)
		}
	}
	if d.Redundancy != 1 || d.Confirmation.Disputes != 1 || len(d.Quarantined) != 0 {
		t.Errorf("detail %+v", d)
	}

	again := r.next()
	for again.task.ID != tasks[0].task.ID || again.chunk == tasks[0].chunk {
		again = r.next()
	}
	r.publish(r.result(again, "third"))
	d = r.awaitDetail("the liar is quarantined", func(d *run.Detail) bool { return len(d.Quarantined) == 1 })
	if q := d.Quarantined[0]; q.Key != identitytest.Of("liar").Key() || q.Worker != "liar" || q.Reason == "" || q.At.IsZero() {
		t.Errorf("quarantined is %+v", q)
	}
	for _, w := range d.Workers {
		if w.Quarantined != (w.Name == "liar") {
			t.Errorf("the worker %+v", w)
		}
	}
	for _, d := range tasks[2:] {
		r.publish(r.result(d, "honest"))
	}
	r.exact()
	last, err := r.detail(t.Context())
	if err != nil || sum(last) != (run.ClassCounts{Done: r.m.Tasks}) || last.Search != nil || len(last.Disputes) != 0 || len(last.Quarantined) != 1 {
		t.Errorf("in the end: %+v (error %v)", last, err)
	}
}

// sum adds up the classes of a detail.
func sum(d *run.Detail) (all run.ClassCounts) {
	for _, c := range d.Classes {
		all.Done, all.InFlight, all.Disputed = all.Done+c.Done, all.InFlight+c.InFlight, all.Disputed+c.Disputed
	}
	return all
}

// awaitDetail waits for a detail while workers are present. The coordinator makes none for a while after one
// that took long, and forgets workers that are silent.
func (r *testRun) awaitDetail(what string, holds func(d *run.Detail) bool) (detail *run.Detail) {
	r.t.Helper()
	testkit.Eventually(r.t, what, func() bool {
		for _, h := range r.present {
			r.cfg.Roster.ObserveHeartbeat(h)
		}
		d, err := r.detail(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		detail = d
		return holds(d)
	})
	return detail
}

// A request for a detail ends with its context while the run does not count.
func TestDetailEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := start(t, 6, nil)
	r.cancel()
	<-r.done
	if d, err := r.detail(t.Context()); err != nil || d == nil {
		t.Errorf("after the end: %+v, error %v", d, err)
	}
	waiting := coordinator.New(coordinator.Config{Roster: progress.NewRoster()}, nil, nil, nil, nil, r.ledger)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped)
	if _, err := waiting.Detail(ctx); !errors.Is(err, errStopped) {
		t.Errorf("before the start: error %v", err)
	}
}
