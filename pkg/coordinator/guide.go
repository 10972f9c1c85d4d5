package coordinator

import (
	"cmp"
	"slices"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/schedule"
)

// guide chooses the sizes of chunks, as package schedule says, by what workers do: a part of a
// thread's share of what is left, at most some work of a median thread, and single tasks at the
// end.
type guide struct {
	shares  []float64 // of the run's work, of one task of each class
	threads int
	left    float64 // share of the work that is not in a chunk yet
	workers map[string]*workDone
	results int     // observed so far
	speed   float64 // share of the work that a median thread does in a second; 0 if unknown
	knownAt time.Time
}

// workDone is what a worker has done lately.
type workDone struct{ share, seconds float64 }

const (
	// firstResults is the number of results after which a chunk of two tasks is made, if there are
	// fewer threads.
	firstResults = 16
	// memory is the time of searches after which older ones count half.
	memory = 30.0
	// maxObserved bounds the workers that the guide remembers: they choose their names.
	maxObserved = 1 << 14
	// speedInterval is the time between computations of the speed.
	speedInterval = 100 * time.Millisecond
)

func newGuide(shares []float64) guide {
	return guide{shares: shares, threads: 1, left: 1, workers: make(map[string]*workDone)}
}

// observe notes that a worker has counted a task.
func (g *guide) observe(worker string, share float64, search time.Duration) {
	g.results++
	w := g.workers[worker]
	if w == nil {
		if len(g.workers) == maxObserved { // it soon knows again those that are there
			clear(g.workers)
		}
		w = new(workDone)
		g.workers[worker] = w
	}
	w.share += share
	w.seconds += max(search, time.Microsecond).Seconds()
	for w.seconds > memory { // one search, as of a machine that slept, must not outweigh all others
		w.share, w.seconds = w.share/2, w.seconds/2
	}
	if now := time.Now(); now.Sub(g.knownAt) > speedInterval {
		g.knownAt, g.speed = now, g.medianSpeed()
	}
}

// medianSpeed returns the speed at which half of the search time was spent: one fast worker
// does not make the chunks too large for the others.
func (g *guide) medianSpeed() float64 {
	var all []workDone
	var seconds float64
	for _, w := range g.workers {
		all = append(all, *w)
		seconds += w.seconds
	}
	slices.SortFunc(all, func(a, b workDone) int { return cmp.Compare(a.share*b.seconds, b.share*a.seconds) })
	for _, w := range all {
		if seconds -= 2 * w.seconds; seconds <= 0 {
			return w.share / w.seconds
		}
	}
	return 0
}

// size returns the number of tasks of the next chunk of a class. Until the speed is known it is
// one, and never more than a thread has counted in the mean: the first results are those of the
// shortest tasks and the first workers, and say too little of the others.
func (g *guide) size(class int) int {
	if g.speed == 0 || g.shares[class] <= 0 {
		return 1
	}
	tasks := schedule.ChunkTasks(g.left, schedule.ChunksLeft, g.threads, schedule.MaxChunkSeconds*g.speed, g.shares[class])
	known := g.results / max(firstResults, g.threads)
	return max(1, min(tasks, queens.MaxChunk, known))
}

// seconds returns the time in which one thread does a share of the work.
func (g *guide) seconds(share float64) float64 {
	if g.speed == 0 {
		return schedule.FlightSeconds * float64(g.threads) // no more before the first results
	}
	return share / g.speed
}
