package core

import (
	"fmt"
	"testing"
	"time"
)

// quiet has no faults.
type quiet struct{}

func (quiet) pick(int, float64) int                         { return 0 }
func (quiet) between(low, high time.Duration) time.Duration { return low + (high-low)/2 }

// A coordinator that is killed and resumed adopts what workers hold, so no task is counted twice
// because of the kill. The chunks have one task, which takes 10 s, or several of 0.3 s. If a task
// takes longer than the coordinator is away, the run is delayed by less than the time of a task.
func TestRestartKeepsSearches(t *testing.T) {
	for _, seconds := range []float64{10, 0.3} {
		tasks := uint64(2000 / (seconds + 10))
		without := quietRun(t, tasks, seconds, 0, 0)
		for killed := without.now / 10; killed < without.now; killed += without.now / 10 {
			for _, away := range []time.Duration{time.Second, 3 * time.Second} {
				w := quietRun(t, tasks, seconds, killed, away)
				twice := 0
				for _, n := range w.counted {
					twice += n - 1
				}
				if twice > w.doubled {
					t.Errorf("killed at %v for %v: %d tasks were counted twice, and %d were handed out twice at "+
						"the end", killed, away, twice, w.doubled)
				}
				if late := w.now - without.now; seconds == 10 && late > 10*time.Second {
					t.Errorf("killed at %v for %v: the run took %v longer", killed, away, late)
				}
			}
		}
	}
}

// quietRun simulates a life with at most one fault: the coordinator is killed at the given time,
// unless that is 0.
func quietRun(t *testing.T, tasks uint64, seconds float64, killed, away time.Duration) *world {
	s := setup{redundancy: 1, classes: []uint64{tasks - tasks/5, tasks / 5},
		kernels: []string{generic}}
	for i, speed := range []float64{1, 1, 0.7} {
		s.machines = append(s.machines,
			machine{name: fmt.Sprint("m", i), kernel: generic, processes: 1, searchers: 2, speed: speed})
	}
	for range tasks {
		s.seconds = append(s.seconds, seconds)
	}
	w := newWorld(s, quiet{}, func(string, ...any) {})
	if killed > 0 {
		w.after(killed, func() { w.host.kill(away) })
	}
	w.live()
	if w.failure != "" {
		t.Errorf("killed at %v for %v: %s", killed, away, w.failure)
	}
	return w
}
