package flight

import (
	"cmp"
	"slices"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/schedule"
)

// guide chooses the sizes of chunks by the rules of package schedule and by what workers do: a chunk is a part of a
// thread's share of the work that is left, at most some seconds of a median thread, and a single task at the
// end.
type guide struct {
	parts   []float64 // of the run's work, of one task of each class
	threads int
	left    float64 // part of the work that the cursor has not passed
	workers []workDone
	index   map[string]int // in workers, by name
	results int            // observed so far
	longest time.Duration  // search of a task so far
	speed   float64        // part of the work that a median thread does in a second; 0 if unknown
	knownAt time.Time
}

// workDone is what a worker has done lately: a part of the run's work.
type workDone struct{ part, seconds float64 }

const (
	// firstResults is the number of results after which a chunk of two tasks is planned, if there are fewer threads.
	firstResults = 16
	// memory is the time of searches, in seconds, after which older ones count half.
	memory = 30.0
	// maxObserved bounds the workers that the guide remembers: they choose their names.
	maxObserved = 1 << 14
	// speedInterval is the time between computations of the speed.
	speedInterval = 100 * time.Millisecond
)

func newGuide(parts []float64) guide {
	return guide{parts: parts, threads: 1, left: 1, index: make(map[string]int)}
}

// observe notes how long a worker searched a task, which is a part of the run's work.
func (g *guide) observe(now time.Time, worker string, part float64, search time.Duration) {
	g.results++
	g.longest = max(g.longest, search)
	w := g.worker(worker)
	w.part += part
	w.seconds += max(search, time.Microsecond).Seconds()
	for w.seconds > memory { // one search, as of a machine that slept, must not outweigh all others
		w.part, w.seconds = w.part/2, w.seconds/2
	}
	if now.Sub(g.knownAt) > speedInterval {
		g.knownAt, g.speed = now, g.medianSpeed()
	}
}

// worker returns what a worker has done. If too many are known, all are forgotten: the guide soon knows those that
// still work.
func (g *guide) worker(name string) *workDone {
	i, known := g.index[name]
	if !known {
		if len(g.workers) == maxObserved {
			g.workers = g.workers[:0]
			clear(g.index)
		}
		i = len(g.workers)
		g.index[name] = i
		g.workers = append(g.workers, workDone{})
	}
	return &g.workers[i]
}

// medianSpeed returns the speed at which half of the search time was spent: one fast worker does not make the
// chunks too large for the others.
func (g *guide) medianSpeed() float64 {
	all := slices.Clone(g.workers)
	var seconds float64
	for _, w := range all {
		seconds += w.seconds
	}
	slices.SortStableFunc(all, func(a, b workDone) int { return cmp.Compare(a.part*b.seconds, b.part*a.seconds) })
	for _, w := range all {
		if seconds -= 2 * w.seconds; seconds <= 0 {
			return w.part / w.seconds
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
	return max(1, min(tasks, queens.MaxChunk, known))
}

// seconds returns the time in which one thread does a part of the work.
func (g *guide) seconds(part float64) float64 {
	if g.speed == 0 {
		return schedule.FlightSeconds * float64(g.threads) // no more before the first results
	}
	return part / g.speed
}
