package worker

import (
	"fmt"
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// A worker remembers few runs, however many are announced. When these are silent, it forgets them, and there is room for
// another run.
func TestManyRuns(t *testing.T) {
	c := NewCore(1, false)
	for i := range mostRuns + 10 {
		c.Announced(time.Second, queens.Announcement{Run: fmt.Sprintf("r%d", i), Instance: 1, State: queens.Running, Work: true}, 0)
	}
	if len(c.runs) != mostRuns {
		t.Errorf("%d runs are known", len(c.runs))
	}
	late := time.Second + 2*max(silentAfter, replyAfter)
	c.Tick(late)
	c.Tick(late + time.Second)
	c.Announced(late+time.Second, queens.Announcement{Run: "late", Instance: 1, State: queens.Running, Work: true}, 0)
	if c.run("late") == nil {
		t.Errorf("%d runs are known, and the announced one is not", len(c.runs))
	}
}
