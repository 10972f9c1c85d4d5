package core

import (
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// Time that goes back does not count, nor does it count again when it comes. A gap does not count.
func TestAdvance(t *testing.T) {
	f := newFleet(0, func(queens.Machine) bool { return true })
	var sum time.Duration
	for _, seconds := range []float64{1, 2, 1, 2, 3, 13, 14} {
		sum += f.advance(time.Duration(seconds * float64(time.Second)))
	}
	if sum != 4*time.Second || f.grace != 13*time.Second+graceTime {
		t.Errorf("%v count, and nobody is silent before %v", sum, f.grace)
	}
}

// A snapshot of a run that has ended says no reason to wait.
func TestEndedRunDoesNotWait(t *testing.T) {
	c := startedCore(t, "1")
	c.wait = queens.Wait{Reason: queens.NoWorkers}
	if s := c.Snapshot(6 * time.Second); s.Waits == nil {
		t.Error("a run that waits says no reason")
	}
	c.Stop(7*time.Second, nil)
	if s := c.Snapshot(7 * time.Second); s.Waits != nil {
		t.Errorf("a run that was stopped waits: %+v", s.Waits)
	}
}
