package schedule

import "math/rand/v2"

// Simulation is list scheduling with guided chunks: how long threads take for the tasks of a run.
// A thread fetches its next chunk when it begins to search one. A chunk is the next tasks of one
// class, see [ChunkTasks].
type Simulation struct {
	Classes []Class // in order
	Speeds  []float64
	// Parts is into how many chunks a thread's share of what is left is cut.
	Parts int
	// Longest is the work of a chunk, at most, in seconds of a thread of speed 1.
	Longest float64
	// Latency is the time from a request to its chunk, in seconds.
	Latency float64
	// Service is the time for which each chunk occupies the server, in seconds. The server
	// serves one chunk after another.
	Service float64
	// Several is how many seconds of its work a thread of another speed than 1 fetches at once,
	// at most half of its share of the tasks not yet fetched; 0 if one chunk at a time.
	Several float64
}

// Class is the tasks of a class.
type Class struct {
	Tasks int
	// Costs are the costs of some tasks, evenly spread over the class, or of all, in seconds of
	// a thread of speed 1. A task that is not among them costs as much as one of those near it.
	Costs []float64
	// Estimate is what the coordinator believes that a task costs.
	Estimate float64
	// Most is the number of tasks of a chunk, at most; 0 if there is no bound.
	Most int
}

// Outcome is what a simulation comes to.
type Outcome struct {
	Chunks int
	Ideal  float64 // seconds if all threads had work until the end
	Took   float64 // seconds to the end of the last task
}

// Loss returns the share by which the schedule takes longer than the ideal.
func (o Outcome) Loss() float64 { return o.Took/o.Ideal - 1 }

// Scaled returns the simulation of a k-th of the threads with a k-th of the tasks. Its loss is
// about the same, and it is quicker.
func (s Simulation) Scaled(k int) Simulation {
	classes := make([]Class, len(s.Classes))
	rest := 0 // of the tasks so far, which no class has
	for i, c := range s.Classes {
		rest += c.Tasks
		c.Tasks = rest / k
		rest %= k
		classes[i] = c
	}
	s.Classes, s.Speeds = classes, s.Speeds[:max(len(s.Speeds)/k, 1)]
	s.Service *= float64(k)
	return s
}

// Run simulates all tasks.
func (s *Simulation) Run() Outcome {
	f := feed{s: s, rng: rand.New(rand.NewPCG(26, 1987))}
	for _, c := range s.Classes {
		f.unfetched += float64(c.Tasks) * c.Estimate
		f.tasks += c.Tasks
	}
	requests := make(requests, len(s.Speeds)) // one for each thread
	for thread, speed := range s.Speeds {
		f.speed += speed
		requests[thread].thread = thread
	}
	end := make([]float64, len(s.Speeds)) // of the work that a thread has fetched
	var work, took, served float64
	for f.tasks > 0 {
		r := &requests[0]
		speed := s.Speeds[r.thread]
		chunks, fetched := f.fetch(speed)
		served = max(served, r.at) + float64(chunks)*s.Service
		begin := max(served+s.Latency, end[r.thread])
		end[r.thread] = begin + fetched/speed
		work, took = work+fetched, max(took, end[r.thread])
		r.at = begin // The thread fetches the next chunk when it begins with this one.
		requests.fix()
	}
	return Outcome{Chunks: f.chunks, Ideal: work / f.speed, Took: took}
}

// feed hands out the chunks of a simulation.
type feed struct {
	s         *Simulation
	rng       *rand.Rand
	class     int     // of the task that is fetched next
	next      int     // that task, within its class
	tasks     int     // not yet fetched
	unfetched float64 // estimated work of these
	speed     float64 // of all threads together
	chunks    int     // fetched so far
}

// fetch takes the next chunk, or several for a fast thread, and returns their number and work.
func (f *feed) fetch(speed float64) (chunks int, work float64) {
	atOnce := 0.0
	if speed != 1 {
		atOnce = min(f.s.Several*speed, f.unfetched*speed/f.speed/2)
	}
	before := f.chunks
	for fetched := 0.0; f.tasks > 0; {
		chunk, estimate := f.cut()
		work, fetched = work+chunk, fetched+estimate
		if fetched >= atOnce {
			break
		}
	}
	return f.chunks - before, work
}

// cut takes the next chunk, and returns its work and the estimate of it.
func (f *feed) cut() (work, estimate float64) {
	for f.next == f.s.Classes[f.class].Tasks {
		f.class++
		f.next = 0
	}
	c := &f.s.Classes[f.class]
	size := min(ChunkTasks(f.unfetched, f.s.Parts, len(f.s.Speeds), f.s.Longest, c.Estimate), c.Tasks-f.next)
	if c.Most > 0 {
		size = min(size, c.Most)
	}
	for range size {
		work += c.cost(f.next, f.rng)
		f.next++
	}
	estimate = float64(size) * c.Estimate
	f.unfetched -= estimate
	f.tasks -= size
	f.chunks++
	return work, estimate
}

// near is how many of the costs to either side of a task its own is chosen from.
const near = 3

// cost returns the cost of a task.
func (c *Class) cost(task int, rng *rand.Rand) float64 {
	known := len(c.Costs)
	switch known {
	case 0:
		return c.Estimate
	case c.Tasks:
		return c.Costs[task]
	}
	nearest := int(int64(task) * int64(known) / int64(c.Tasks))
	first, end := max(nearest-near, 0), min(nearest+near+1, known)
	return c.Costs[first+rng.IntN(end-first)]
}

// requests is a heap with the next request of each thread, the earliest first.
type requests []struct {
	at     float64
	thread int
}

// fix restores the order after the first request was postponed.
func (r requests) fix() {
	first := r[0]
	at := 0
	for {
		child := 2*at + 1
		if child >= len(r) {
			break
		}
		if child+1 < len(r) && r.before(child+1, child) {
			child++
		}
		if r[child].at > first.at || r[child].at == first.at && r[child].thread > first.thread {
			break
		}
		r[at] = r[child]
		at = child
	}
	r[at] = first
}

func (r requests) before(i, j int) bool {
	return r[i].at < r[j].at || r[i].at == r[j].at && r[i].thread < r[j].thread
}

// Equal returns so many threads of speed 1.
func Equal(threads int) []float64 {
	speeds := make([]float64, threads)
	for i := range speeds {
		speeds[i] = 1
	}
	return speeds
}
