package flight

import (
	"cmp"
	"slices"
	"time"

	"nqueens/pkg/run"
	"nqueens/pkg/schedule"
)

// guide chooses the sizes of chunks by the rules of package schedule and by what workers do: a chunk is a part of a
// thread's share of the work that is left, at most some seconds of a median thread, and a single task at the
// end.
type guide struct {
	parts   []float64 // of the run's work, of one task of each class
	threads int
	left    float64  // part of the work that the cursor has not passed
	recent  []search // the latest ones, in a ring
	results int      // observed so far
	speed   float64  // part of the work that a median thread does in a second; 0 if unknown
	knownAt time.Time
}

// search is a search of a task: its speed, as a part of the run's work in a second, and its time, at most maxWeight.
type search struct{ speed, seconds float64 }

const (
	// firstResults is the number of results after which a chunk of two tasks is planned, if there are fewer threads.
	firstResults = 16
	// maxRecent is how many searches give the speed.
	maxRecent = 1 << 10
	// maxWeight is the time of a search, in seconds, that counts: one search, as of a machine that slept, must not
	// outweigh all others.
	maxWeight = 30.0
	// speedInterval is the time between computations of the speed.
	speedInterval = 100 * time.Millisecond
)

func newGuide(parts []float64) guide {
	return guide{parts: parts, threads: 1, left: 1}
}

// observe notes how long a search of a task took, which is a part of the run's work.
func (g *guide) observe(now time.Time, part float64, took time.Duration) {
	seconds := max(took, time.Microsecond).Seconds()
	one := search{part / seconds, min(seconds, maxWeight)}
	if len(g.recent) < maxRecent {
		g.recent = append(g.recent, one)
	} else {
		g.recent[g.results%maxRecent] = one
	}
	g.results++
	if now.Sub(g.knownAt) > speedInterval {
		g.knownAt, g.speed = now, g.medianSpeed()
	}
}

// medianSpeed returns the speed at which half of the time of the latest searches was spent: one fast worker does not
// make the chunks too large for the others.
func (g *guide) medianSpeed() float64 {
	all := slices.Clone(g.recent)
	var seconds float64
	for _, s := range all {
		seconds += s.seconds
	}
	slices.SortFunc(all, func(a, b search) int { return cmp.Compare(a.speed, b.speed) })
	for _, s := range all {
		if seconds -= 2 * s.seconds; seconds <= 0 {
			return s.speed
		}
	}
	return 0
}

// size returns the number of tasks of the next chunk of a class. It is 1 until the speed is known, and never
// more than a thread has counted in the mean: the first results are those of the shortest tasks and the first
// workers, and say too little of the others.
func (g *guide) size(class int) int {
	if g.speed == 0 || g.parts[class] <= 0 {
		return 1
	}
	tasks := schedule.ChunkTasks(g.left, schedule.ChunksLeft, g.threads, schedule.MaxChunkSeconds*g.speed, g.parts[class])
	known := g.results / max(firstResults, g.threads)
	return max(1, min(tasks, run.MaxChunk, known))
}

// seconds returns the time in which one thread does a part of the work.
func (g *guide) seconds(part float64) float64 {
	if g.speed == 0 {
		return schedule.FlightSeconds * float64(g.threads) // no more before the first results
	}
	return part / g.speed
}
