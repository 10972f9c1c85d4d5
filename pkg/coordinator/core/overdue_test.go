package core

import (
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// Which holds are overdue changes at ticks only. Otherwise a worker could cease to hoard between
// two ticks, and work would wait for it without anybody looking.
func TestOverdueChangesAtTicks(t *testing.T) {
	s := &story{t: t, out: &strings.Builder{}}
	s.run([]string{"2"})
	c, one := s.core, queens.Range{Tasks: 1}
	c.fleet.median = 1e-6 // as a result leaves it: a searcher of this speed takes long
	if before := c.overdueTime(one); before != overdueAfter {
		t.Errorf("%v before the tick", before)
	}
	c.Tick(time.Second)
	if after := c.overdueTime(one); after <= overdueAfter {
		t.Errorf("%v after the tick", after)
	}
}

// Of several holds of a task that end at the same time, the one that comes first in the heap may be
// handed out again. A tick looks at the first holds only, so another one would never be found.
func TestFirstHoldIsDoubled(t *testing.T) {
	q := newQueue([]uint64{1})
	for i, name := range []string{"b", "a", "c"} {
		p := queens.Process{Machine: queens.Machine{User: queens.WorkerUser, Name: name}, Name: name}
		h := q.hold(time.Duration(i), p, queens.Range{Tasks: 1}, func(uint64) bool { return true })
		q.endsAt(h, never)
	}
	for i, h := range q.byEnd {
		if got := q.mayDouble(h); got != (i == 0) {
			t.Errorf("the hold of %s, number %d in the heap: %v", h.holder.Name, i, got)
		}
	}
}
