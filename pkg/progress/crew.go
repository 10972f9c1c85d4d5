package progress

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/queens"
)

// pace is what a worker has counted in its last tasks: each task halves the weight of
// those some six before it.
type pace struct {
	solutions float64
	search    time.Duration // of one thread
}

const fade = 0.9

// Counted notes that a worker has counted a task with so many solutions, weighted, in
// that time of one of its threads.
func (r *Roster) Counted(worker string, solutions float64, search time.Duration) {
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

// Crew returns the workers present, by name, with what they hold and how fast they are;
// of more than [queens.MaxCrew] those that have held a task the longest.
func (r *Roster) Crew() []queens.CrewMember {
	r.mu.Lock()
	defer r.mu.Unlock()
	crew := make([]queens.CrewMember, 0, len(r.workers))
	for name, e := range r.workers {
		if e.silent() {
			continue
		}
		member := queens.CrewMember{Name: name, Kernel: e.beat.Kernel, Threads: e.beat.Threads, Held: len(e.beat.Held)}
		if p := r.pace[name]; p.search > 0 {
			member.Rate = p.solutions / p.search.Seconds() * float64(member.Threads)
		}
		for _, held := range e.beat.Held {
			member.Oldest = max(member.Oldest, held.Since+time.Since(e.at))
		}
		crew = append(crew, member)
	}
	if len(crew) > queens.MaxCrew {
		slices.SortFunc(crew, func(a, b queens.CrewMember) int {
			return cmp.Or(cmp.Compare(b.Oldest, a.Oldest), strings.Compare(a.Name, b.Name))
		})
		crew = crew[:queens.MaxCrew]
	}
	slices.SortFunc(crew, func(a, b queens.CrewMember) int { return strings.Compare(a.Name, b.Name) })
	return crew
}
