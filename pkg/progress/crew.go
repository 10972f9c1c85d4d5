package progress

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/run"
)

// pace is what a worker has counted in its last tasks: each task halves the weight of
// those some six before it.
type pace struct {
	solutions float64
	search    time.Duration // of one thread
}

const fade = 0.9

// ObserveResult notes that a worker has counted a task with so many solutions, weighted, in
// that time of one of its threads.
func (r *Roster) ObserveResult(worker string, solutions float64, search time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, present := r.workers[worker]; !present && len(r.pace) >= maxPaces {
		return
	}
	p := r.pace[worker]
	r.pace[worker] = pace{
		solutions: fade*p.solutions + solutions,
		search:    time.Duration(fade*float64(p.search)) + search,
	}
}

// maxPaces bounds what is kept of workers that never send a heartbeat: their results may
// name anybody.
const maxPaces = 1 << 16

// Workers returns the workers present, by name, with what they hold and how fast they are;
// of more than [queens.MaxCrew] those that have held a task the longest.
func (r *Roster) Workers() []run.WorkerStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	crew := make([]run.WorkerStatus, 0, len(r.workers))
	for name, e := range r.workers {
		if e.silent() {
			continue
		}
		member := run.WorkerStatus{Name: name, Kernel: e.beat.Kernel, Threads: e.beat.Threads, Held: len(e.beat.Held)}
		if p := r.pace[name]; p.search > 0 {
			member.Rate = p.solutions / p.search.Seconds() * float64(member.Threads)
		}
		for _, held := range e.beat.Held {
			member.LongestTask = max(member.LongestTask, held.Elapsed+time.Since(e.at))
		}
		crew = append(crew, member)
	}
	if len(crew) > run.MaxWorkers {
		slices.SortFunc(crew, func(a, b run.WorkerStatus) int {
			return cmp.Or(cmp.Compare(b.LongestTask, a.LongestTask), strings.Compare(a.Name, b.Name))
		})
		crew = crew[:run.MaxWorkers]
	}
	slices.SortFunc(crew, func(a, b run.WorkerStatus) int { return strings.Compare(a.Name, b.Name) })
	return crew
}
