package estimate

import (
	"container/heap"
	"math"
	"math/rand/v2"

	"nqueens/pkg/schedule"
)

// simulation is list scheduling with guided chunks: how long threads of the same speed take for the
// tasks of a run. A thread fetches its next chunk when it begins to search one. A chunk is the next
// tasks of one class, see [schedule.ChunkTasks].
type simulation struct {
	Classes []taskClass // in order
	Threads int
	// Parts is into how many chunks a thread's share of what is left is cut.
	Parts int
	// Longest is the work of a chunk, at most, in seconds of a thread.
	Longest float64
	// Latency is the time from a request to its chunk, in seconds.
	Latency float64
	// Service is the time for which each chunk occupies the server, in seconds. The server
	// serves one chunk after another.
	Service float64
	// Spread is the standard deviation of the logarithm of the cost of a task.
	Spread float64
}

// taskSpread is how much the tasks of a class differ. The standard deviation of their nodes, relative to the mean of
// their class, is 0.16 for n = 20, 0.31 for 22, 0.34 for 24 and 0.41 for 27.
const taskSpread = 0.25

// taskClass is the tasks of a class.
type taskClass struct {
	Tasks int
	Mean  float64 // cost of a task, in seconds of a thread: what the coordinator believes that each costs
	Most  int     // tasks of a chunk
}

// outcome is what a simulation comes to.
type outcome struct {
	Chunks int
	Ideal  float64 // seconds if all threads had work until the end
	Took   float64 // seconds to the end of the last task
}

// Loss returns the share by which the schedule takes longer than the ideal.
func (o outcome) Loss() float64 { return o.Took/o.Ideal - 1 }

// Scaled returns the simulation of a k-th of the threads with a k-th of the tasks. Its loss is
// about the same, and it is quicker.
func (s simulation) Scaled(k int) simulation {
	classes := make([]taskClass, len(s.Classes))
	rest := 0 // of the tasks so far, which no class has
	for i, c := range s.Classes {
		rest += c.Tasks
		c.Tasks = rest / k
		rest %= k
		classes[i] = c
	}
	s.Classes, s.Threads = classes, max(s.Threads/k, 1)
	s.Service *= float64(k)
	return s
}

// Run simulates all tasks.
func (s *simulation) Run() outcome {
	f := feed{s: s, rng: rand.New(rand.NewPCG(26, 1987))}
	for _, c := range s.Classes {
		f.unfetched += float64(c.Tasks) * c.Mean
		f.tasks += c.Tasks
	}
	requests := make(requests, s.Threads) // one for each thread
	for thread := range requests {
		requests[thread].thread = thread
	}
	end := make([]float64, s.Threads) // of the work that a thread has fetched
	var work, took, served float64
	chunks := 0
	for ; f.tasks > 0; chunks++ {
		r := &requests[0]
		chunk := f.fetch()
		served = max(served, r.at) + s.Service
		begin := max(served+s.Latency, end[r.thread])
		end[r.thread] = begin + chunk
		work, took = work+chunk, max(took, end[r.thread])
		r.at = begin // The thread fetches the next chunk when it begins with this one.
		heap.Fix(requests, 0)
	}
	return outcome{Chunks: chunks, Ideal: work / float64(s.Threads), Took: took}
}

// feed hands out the chunks of a simulation.
type feed struct {
	s         *simulation
	rng       *rand.Rand
	class     int     // of the task that is fetched next
	next      int     // that task, within its class
	tasks     int     // not yet fetched
	unfetched float64 // estimated work of these
}

// fetch takes the next chunk, and returns its work.
func (f *feed) fetch() (work float64) {
	for f.next == f.s.Classes[f.class].Tasks {
		f.class++
		f.next = 0
	}
	c := &f.s.Classes[f.class]
	size := min(schedule.ChunkTasks(f.unfetched, f.s.Parts, f.s.Threads, f.s.Longest, c.Mean), c.Tasks-f.next, c.Most)
	for range size {
		work += c.Mean * math.Exp(f.s.Spread*f.rng.NormFloat64()-f.s.Spread*f.s.Spread/2)
		f.next++
	}
	f.unfetched -= float64(size) * c.Mean
	f.tasks -= size
	return work
}

// requests is a heap with the next request of each thread, the earliest first.
type requests []request

type request struct {
	at     float64
	thread int
}

func (r requests) Len() int { return len(r) }
func (r requests) Less(i, k int) bool {
	return r[i].at < r[k].at || r[i].at == r[k].at && r[i].thread < r[k].thread
}
func (r requests) Swap(i, k int) { r[i], r[k] = r[k], r[i] }
func (r requests) Push(any)      {} // there always are as many
func (r requests) Pop() any      { return nil }
