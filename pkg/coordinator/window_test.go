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
		w := newWindow(&Config{Overdue: time.Second, Patience: time.Hour}, "r", &m, func(uint64) bool { return false })
		defer w.close()
		const out = 20
		next := func() (job, bool) { w.draw(); return w.next() }
		for range out {
			j, ok := next()
			if !ok || j.errand == look {
				t.Fatalf("errand %+v (%v), want a fresh task", j, ok)
			}
			w.sent(j)
			j.place, j.published = 1, true
			w.placed(j)
		}
		time.Sleep(time.Second)
		w.sweep()
		w.sweep() // finds them busy
		w.accepted(3, 0)
		looked := make(map[uint64]bool)
		for i := range 2 * (out - 1) {
			j, ok := next()
			if !ok || (j.errand == look) != (i%2 == 0) {
				t.Fatalf("errand %d is %+v (%v)", i, j, ok)
			}
			if j.errand == look && (looked[j.task.ID] || j.task.ID == 3) {
				t.Errorf("a second look, or one too many, after task %d", j.task.ID)
			}
			looked[j.task.ID] = true
			w.sent(j)
		}
		if j, ok := next(); !ok || j.errand == look {
			t.Errorf("errand %+v (%v), want a fresh task after all looks", j, ok)
		}
	})
}
