package coordinator

import (
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// Looks after tasks that are overdue and fresh tasks take turns: neither keeps the
// other from being sent. What is accepted meanwhile is not sent any more, and a task
// is never with the mail twice.
func TestLooksAndFreshTasksTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		classes, err := symmetry.Classes(10, queens.None)
		if err != nil {
			t.Fatal(err)
		}
		m, err := split.Plan(t.Context(), 10, queens.None, classes, 2)
		if err != nil {
			t.Fatal(err)
		}
		w := newWindow(&Config{CheckAfter: time.Second, RepublishAfter: time.Hour}, "r", &m, func(uint64) bool { return false })
		defer w.close()
		const out = 20
		next := func() (request, bool) { w.fill(); return w.nextRequest() }
		for range out {
			j, ok := next()
			if !ok || j.op == opCheck {
				t.Fatalf("errand %+v (%v), want a fresh task", j, ok)
			}
			w.sent(j)
			j.streamSeq, j.published = 1, true
			w.completed(j)
		}
		time.Sleep(time.Second)
		w.sweep()
		w.sweep() // finds them busy
		w.accepted(3, 0)
		looked := make(map[uint64]bool)
		for i := range 2 * (out - 1) {
			j, ok := next()
			if !ok || (j.op == opCheck) != (i%2 == 0) {
				t.Fatalf("errand %d is %+v (%v)", i, j, ok)
			}
			if j.op == opCheck && (looked[j.task.ID] || j.task.ID == 3) {
				t.Errorf("a second look, or one too many, after task %d", j.task.ID)
			}
			looked[j.task.ID] = true
			w.sent(j)
		}
		if j, ok := next(); !ok || j.op == opCheck {
			t.Errorf("errand %+v (%v), want a fresh task after all looks", j, ok)
		}
	})
}

// A task is expected from the moment that it is drawn, also before the mail has taken it;
// when its result comes first, it is not sent any more.
func TestResultOfADrawnTask(t *testing.T) {
	classes, err := symmetry.Classes(8, queens.None)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 8, queens.None, classes, 2)
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(map[uint64]bool)
	w := newWindow(&Config{CheckAfter: time.Second, RepublishAfter: time.Hour}, "r", &m, func(id uint64) bool { return accepted[id] })
	defer w.close()
	w.fill()
	first, ok := w.nextRequest()
	if hash, out := w.expected(first.task.ID); !ok || !out || hash != first.task.Hash() || first.task.Attempt != 1 {
		t.Fatalf("errand %+v (%v), hash %x (%v)", first, ok, hash, out)
	}
	accepted[first.task.ID] = true
	w.accepted(first.task.ID, 0)
	if j, ok := w.nextRequest(); ok {
		t.Errorf("errand %+v for a task that has its result", j)
	}
	w.fill()
	if second, ok := w.nextRequest(); !ok || second.task.ID == first.task.ID {
		t.Errorf("errand %+v (%v), want the next task", second, ok)
	}
}
