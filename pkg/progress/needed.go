package progress

import (
	"math"
	"time"
)

// DefaultTarget is how long a run should take if nobody says.
const DefaultTarget = 2 * time.Hour

// Demand is what is left of a run, and when it should be over.
type Demand struct {
	Tasks   uint64        // that are not done
	Left    time.Duration // thread time that these take, estimated; 0 if it is not known yet
	Threads int           // of the workers present
	// AllPublished says that no task waits to be published: the tail of the run has begun.
	AllPublished bool
	// Target is how long the run should take, and Until the time that is left of it, which may be negative.
	Target, Until time.Duration
}

const (
	// early and late are the parts of the target by which a run may end before or after it without another number of
	// threads: workers take minutes to start, and what is left is an estimate.
	early, late = 0.1, 0.05
	// shortest is the part of the target in which what is left at its end, or after it, is to be counted.
	shortest = 0.1
)

// NeededThreads returns how many threads a run needs to end at its target, for a program that starts and stops workers.
// It is 0 when nothing is left, and at most the number of the tasks that are. Threads that end the run about at the
// target stay, and so do those that count its last tasks.
func (d *Demand) NeededThreads() int {
	if d.Tasks == 0 {
		return 0
	}
	needed, target := float64(d.Threads), d.Target.Seconds()
	if left, until := d.Left.Seconds(), d.Until.Seconds(); left > 0 {
		expected := left / needed // infinite without threads
		if expected < until-early*target || expected > until+late*target {
			needed = math.Ceil(left / max(until, shortest*target))
		}
	}
	if d.AllPublished {
		needed = max(needed, float64(d.Threads))
	}
	return int(max(min(needed, float64(d.Tasks), maxNeeded), 1))
}

// maxNeeded bounds the threads that a run asks for.
const maxNeeded = 1 << 20
