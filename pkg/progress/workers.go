package progress

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"nqueens/pkg/run"
)

// heartbeatTimeout is how long a worker may be silent before it counts as lost: several
// heartbeats.
const heartbeatTimeout = 15 * time.Second

// Roster knows the workers by their heartbeats. A worker is present from its first
// heartbeat until it announces that it leaves, or has been silent for 15 seconds. A Roster
// is safe for concurrent use.
type Roster struct {
	mu      sync.Mutex
	workers map[string]entry
	rates   map[string]workerRate // also of workers that are not present
}

type entry struct {
	last       run.Heartbeat
	receivedAt time.Time
}

func (e entry) isSilent() bool { return time.Since(e.receivedAt) > heartbeatTimeout }

// NewRoster returns a roster without workers.
func NewRoster() *Roster {
	return &Roster{workers: make(map[string]entry), rates: make(map[string]workerRate)}
}

// Change is what a heartbeat changes in a roster.
type Change int

// The changes.
const (
	Stays Change = iota // or leaves without having been known
	Joins
	Leaves
)

// ObserveHeartbeat records a heartbeat and returns what it changes.
func (r *Roster) ObserveHeartbeat(h run.Heartbeat) Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.workers[h.Worker]
	switch {
	case h.Leaving && known:
		r.forget(h.Worker)
		return Leaves
	case h.Leaving:
		return Stays
	}
	r.workers[h.Worker] = entry{last: h, receivedAt: time.Now()}
	if known {
		return Stays
	}
	return Joins
}

func (r *Roster) forget(worker string) {
	delete(r.workers, worker)
	delete(r.rates, worker)
}

// present returns the entries of the workers present, in no order. The caller holds the
// lock.
func (r *Roster) present() []entry {
	return slices.DeleteFunc(slices.Collect(maps.Values(r.workers)), entry.isSilent)
}

// Present returns the number of workers present, and of all their threads.
func (r *Roster) Present() (workers, threads int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	present := r.present()
	for _, e := range present {
		threads += e.last.Threads
	}
	return len(present), threads
}

// Names returns the names of the workers present, sorted.
func (r *Roster) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, e := range r.present() {
		names = append(names, e.last.Worker)
	}
	slices.Sort(names)
	return names
}

// Workers returns the workers present, sorted by name, with their tasks and rates. If there
// are more than [run.MaxWorkers], it returns those that have held a task the longest.
func (r *Roster) Workers() []run.WorkerStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	workers := []run.WorkerStatus{}
	for _, e := range r.present() {
		h := &e.last
		w := run.WorkerStatus{Name: h.Worker, Kernel: h.Kernel, Threads: h.Threads, Held: len(h.Held), Rate: r.rates[h.Worker].perSecond(h.Threads)}
		for _, held := range h.Held {
			w.LongestTask = max(w.LongestTask, held.Elapsed+time.Since(e.receivedAt))
		}
		workers = append(workers, w)
	}
	byName := func(a, b run.WorkerStatus) int { return strings.Compare(a.Name, b.Name) }
	if len(workers) > run.MaxWorkers {
		slices.SortFunc(workers, func(a, b run.WorkerStatus) int {
			return cmp.Or(cmp.Compare(b.LongestTask, a.LongestTask), byName(a, b))
		})
		workers = workers[:run.MaxWorkers]
	}
	slices.SortFunc(workers, byName)
	return workers
}

// Expire forgets the workers that are silent and have not announced that they leave, and
// returns their last heartbeats, sorted by name: the leases of their tasks may have yet to
// lapse. A worker that is heard of later joins again. Until Expire is called, the roster
// keeps silent workers.
func (r *Roster) Expire() []run.Heartbeat {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lost []run.Heartbeat
	for name, e := range r.workers {
		if e.isSilent() {
			lost = append(lost, e.last)
			r.forget(name)
		}
	}
	slices.SortFunc(lost, func(a, b run.Heartbeat) int { return strings.Compare(a.Worker, b.Worker) })
	return lost
}
