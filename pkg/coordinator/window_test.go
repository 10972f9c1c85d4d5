package coordinator

import (
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// newTestWindow returns a window on the tasks of an empty board of side n.
func newTestWindow(t *testing.T, n int, has func(id uint64) bool) *window {
	t.Helper()
	classes, err := symmetry.Classes(n, queens.None)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), n, queens.None, classes, 2)
	if err != nil {
		t.Fatal(err)
	}
	w := newWindow(&Config{CheckAfter: time.Second, RepublishAfter: time.Hour}, "r", &m, has)
	t.Cleanup(w.close)
	return w
}

// request fills the window and returns the next request.
func (w *window) request() (request, bool) {
	w.fill()
	return w.nextRequest()
}

// Requests for tasks in flight and fresh tasks take turns: neither keeps the other from
// being sent. A task that is accepted in the meantime is not sent, and no task has two
// requests at once.
func TestChecksAndFreshTasksTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWindow(t, 10, func(uint64) bool { return false })
		const inflight = 20
		for range inflight {
			r, ok := w.request()
			if !ok || r.op != opPublish {
				t.Fatalf("request %+v (%v), want a fresh task", r, ok)
			}
			w.sent()
			r.streamSeq, r.published = 1, true
			w.completed(r)
		}
		time.Sleep(time.Second)
		w.sweep()
		w.sweep() // finds them busy
		w.accepted(3, 0)
		checked := make(map[uint64]bool)
		for i := range 2 * (inflight - 1) {
			r, ok := w.request()
			if !ok || (r.op == opCheck) != (i%2 == 0) {
				t.Fatalf("request %d is %+v (%v)", i, r, ok)
			}
			if r.op == opCheck && (checked[r.task.ID] || r.task.ID == 3) {
				t.Errorf("task %d is checked twice, or has a result", r.task.ID)
			}
			checked[r.task.ID] = true
			w.sent()
		}
		if r, ok := w.request(); !ok || r.op != opPublish {
			t.Errorf("request %+v (%v), want a fresh task after all checks", r, ok)
		}
	})
}

// A task that has left the queue is republished only if its result is still missing when
// a sweep interval has passed: its result may be on the way.
func TestMissingTaskIsRepublishedOneSweepLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWindow(t, 10, func(uint64) bool { return false })
		answer := func(change func(*request)) {
			r, ok := w.request()
			if !ok {
				t.Fatal("no request")
			}
			w.sent()
			change(&r)
			w.completed(r)
		}
		const arrives, stays = 0, 1 // what the result of each task does after the check
		for range 2 {
			answer(func(r *request) { r.streamSeq, r.published = r.task.ID+10, true })
		}
		w.exhausted = true // no more tasks
		time.Sleep(time.Second)
		if lost, _ := w.sweep(); len(lost) != 0 {
			t.Fatalf("%d tasks are lost before they are checked", len(lost))
		}
		for range 2 {
			answer(func(r *request) {
				if r.op != opCheck {
					t.Fatalf("request %+v, want a check", *r)
				}
				r.missing = true
			})
		}
		if lost, _ := w.sweep(); len(lost) != 0 || len(w.retryQueue) != 0 {
			t.Fatalf("%d tasks are lost, and the requests are %+v, as soon as they were missing", len(lost), w.retryQueue)
		}
		w.accepted(arrives, 0)
		time.Sleep(w.sweepInterval())
		lost, expired := w.sweep()
		if len(lost) != 1 || len(expired) != 0 || lost[0].task.ID != stays {
			t.Fatalf("lost are %+v, expired %+v, want task %d lost", lost, expired, stays)
		}
		if r, ok := w.request(); !ok || r.op != opPublish || r.task.ID != stays || r.task.Attempt != 2 {
			t.Errorf("request %+v (%v), want task %d published again", r, ok, stays)
		}
	})
}

// A task is expected as soon as it is in the window, before the dispatcher has it. If its
// result comes first, it is not published.
func TestResultBeforePublication(t *testing.T) {
	accepted := make(map[uint64]bool)
	w := newTestWindow(t, 8, func(id uint64) bool { return accepted[id] })
	first, ok := w.request()
	if f := w.inflight[first.task.ID]; !ok || f == nil || f.hash != first.task.Hash() || first.task.Attempt != 1 {
		t.Fatalf("request %+v (%v), in flight %+v", first, ok, f)
	}
	accepted[first.task.ID] = true
	w.accepted(first.task.ID, 0)
	if r, ok := w.nextRequest(); ok {
		t.Errorf("request %+v for a task that has its result", r)
	}
	if second, ok := w.request(); !ok || second.task.ID == first.task.ID {
		t.Errorf("request %+v (%v), want the next task", second, ok)
	}
}
