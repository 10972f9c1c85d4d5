package progress

import (
	"sync"
	"time"

	"nqueens/pkg/queens"
)

// silence is how long a worker may be silent before it is held to be gone:
// several heartbeats.
const silence = 15 * time.Second

// Roster knows the workers by their heartbeats. It is safe for concurrent use.
type Roster struct {
	mu      sync.Mutex
	workers map[string]entry
}

type entry struct {
	threads int
	last    time.Time
}

// NewRoster returns a roster that has heard of nobody.
func NewRoster() *Roster {
	return &Roster{workers: make(map[string]entry)}
}

// Saw notes a heartbeat.
func (r *Roster) Saw(h queens.Heartbeat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.Leaving {
		delete(r.workers, h.Worker)
		return
	}
	r.workers[h.Worker] = entry{threads: h.Threads, last: time.Now()}
}

// Present returns the number of workers heard of lately, and of their threads.
func (r *Roster) Present() (workers, threads int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, w := range r.workers {
		if time.Since(w.last) > silence {
			delete(r.workers, name)
			continue
		}
		workers++
		threads += w.threads
	}
	return workers, threads
}
