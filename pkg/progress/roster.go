package progress

import (
	"slices"
	"strings"
	"sync"
	"time"

	"nqueens/pkg/run"
)

// silence is how long a worker may be silent before it is held to be gone:
// several heartbeats.
const silence = 15 * time.Second

// Roster knows the workers by their heartbeats. A worker is present from its first
// heartbeat until it says that it leaves, or is silent for too long. The roster is
// safe for concurrent use.
type Roster struct {
	mu      sync.Mutex
	workers map[string]entry
	pace    map[string]pace // also of those that are not present
}

type entry struct {
	beat run.Heartbeat // the last
	at   time.Time
}

func (e entry) silent() bool { return time.Since(e.at) > silence }

// NewRoster returns a roster that has heard of nobody.
func NewRoster() *Roster {
	return &Roster{workers: make(map[string]entry), pace: make(map[string]pace)}
}

// Change is what a heartbeat changes in a roster.
type Change int

// The changes.
const (
	Stays Change = iota // or is not known, and leaves
	Joins
	Leaves
)

// ObserveHeartbeat notes a heartbeat, keeps it, and tells what it changes.
func (r *Roster) ObserveHeartbeat(h run.Heartbeat) Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.workers[h.Worker]
	switch {
	case h.Leaving && known:
		delete(r.workers, h.Worker)
		delete(r.pace, h.Worker)
		return Leaves
	case h.Leaving:
		return Stays
	}
	r.workers[h.Worker] = entry{beat: h, at: time.Now()}
	if known {
		return Stays
	}
	return Joins
}

// Present returns the number of workers present, and of their threads.
func (r *Roster) Present() (workers, threads int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.workers {
		if !e.silent() {
			workers++
			threads += e.beat.Threads
		}
	}
	return workers, threads
}

// Names returns the names of the workers present, in order.
func (r *Roster) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name, e := range r.workers {
		if !e.silent() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Expire returns the last heartbeats, in order of name, of the workers that have
// been silent for too long and have not said that they leave: what they held may wait
// for its lease to lapse. It forgets them, so that each is told once; one that is heard
// of again later is a new one. Until it is called, the roster keeps them.
func (r *Roster) Expire() []run.Heartbeat {
	r.mu.Lock()
	defer r.mu.Unlock()
	var gone []run.Heartbeat
	for name, e := range r.workers {
		if e.silent() {
			gone = append(gone, e.beat)
			delete(r.workers, name)
			delete(r.pace, name)
		}
	}
	slices.SortFunc(gone, func(a, b run.Heartbeat) int { return strings.Compare(a.Worker, b.Worker) })
	return gone
}
