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

// A roster is bounded, since anybody may send heartbeats: it takes no more workers than maxWorkers,
// and of their chunks no more than maxHeld. The coordinator asks the server after the others.
const (
	maxWorkers = 1 << 17
	maxHeld    = 1 << 20
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
	held    int                   // chunks in the last heartbeats of all workers
	rates   map[string]workerRate // also of workers that are not present
	runs    map[string]time.Time  // runs that are alive, and their last beats
}

type entry struct {
	last       run.Heartbeat
	receivedAt time.Time
}

func (e entry) isSilent() bool { return time.Since(e.receivedAt) > heartbeatTimeout }

// NewRoster returns a roster without workers.
func NewRoster() *Roster {
	return &Roster{workers: make(map[string]entry), rates: make(map[string]workerRate), runs: make(map[string]time.Time)}
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
	if !known && len(r.workers) >= maxWorkers {
		return Stays
	}
	r.held -= len(r.workers[h.Worker].last.Held)
	if room := max(0, maxHeld-r.held); room < len(h.Held) {
		h.Held = slices.Clone(h.Held[:room]) // the rest is not kept in memory
	}
	r.held += len(h.Held)
	r.workers[h.Worker] = entry{last: h, receivedAt: time.Now()}
	if known {
		return Stays
	}
	return Joins
}

func (r *Roster) forget(worker string) {
	r.held -= len(r.workers[worker].last.Held)
	delete(r.workers, worker)
	delete(r.rates, worker)
}

// maxRuns bounds the runs that a roster remembers: names come from outside.
const maxRuns = 1000

// ObserveBeat records a beat of a run.
func (r *Roster) ObserveBeat(b run.Beat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.runs, func(_ string, at time.Time) bool { return time.Since(at) > run.SilentAfter })
	if b.State != run.Running {
		delete(r.runs, b.Run)
	} else if len(r.runs) < maxRuns {
		r.runs[b.Run] = time.Now()
	}
}

// Others returns the runs that are alive beside the given one, sorted; at most
// [run.MaxSharedWith].
func (r *Roster) Others(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var others []string
	for other, at := range r.runs {
		if other != name && time.Since(at) <= run.SilentAfter {
			others = append(others, other)
		}
	}
	slices.Sort(others)
	return others[:min(len(others), run.MaxSharedWith)]
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

// Idle returns the number of threads of the workers present that search nothing, as far as
// their heartbeats say.
func (r *Roster) Idle() (threads int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.present() {
		busy := 0
		for _, h := range e.last.Held {
			if h.Searching {
				busy++
			}
		}
		threads += max(e.last.Threads-max(busy, e.last.Busy), 0)
	}
	return threads
}

// Identity is the key with which a worker says that it signs its results, and the proof that it was
// admitted; see [run.Heartbeat].
type Identity struct {
	Key       string
	Admission []byte
}

// Identities returns what the workers present say who they are, in no order.
func (r *Roster) Identities() []Identity {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Identity
	for _, e := range r.present() {
		all = append(all, Identity{e.last.Key, e.last.Admission})
	}
	return all
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

// Workers returns the workers present, sorted by name, with their chunks and rates. If there
// are more than [run.MaxWorkers], it returns those that have been searching a chunk the longest.
// A worker whose last heartbeat names no search is idle, and has no rate, unless a result of it has
// come since.
func (r *Roster) Workers() []run.WorkerStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	workers := []run.WorkerStatus{}
	for _, e := range r.present() {
		workers = append(workers, r.status(&e))
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

// status returns what the last heartbeat of a worker says. The caller holds the lock.
func (r *Roster) status(e *entry) run.WorkerStatus {
	h := &e.last
	rate := r.rates[h.Worker]
	w := run.WorkerStatus{Name: h.Worker, Kernel: h.Kernel, Threads: h.Threads}
	for _, held := range h.Held {
		if held.Searching {
			w.Held++
			w.LongestTask = max(w.LongestTask, held.Elapsed+time.Since(e.receivedAt))
		}
	}
	if w.Held > 0 || !rate.countedAt.Before(e.receivedAt) {
		w.Rate = rate.perSecond(h.Threads)
	}
	return w
}

// Presence is a worker present, and what it searches.
type Presence struct {
	run.WorkerStatus
	Identity
	// Chunk is the chunk of the run that it has searched the longest, for that time; 0 if it searches
	// none.
	Chunk   uint64
	Elapsed time.Duration
}

// Everyone returns all workers present, sorted by name, with what they search of a run.
func (r *Roster) Everyone(name string) []Presence {
	all := r.presences(name)
	slices.SortFunc(all, func(a, b Presence) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (r *Roster) presences(name string) []Presence {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Presence, 0, len(r.workers))
	for _, e := range r.workers {
		if e.isSilent() {
			continue
		}
		p := Presence{WorkerStatus: r.status(&e), Identity: Identity{e.last.Key, e.last.Admission}}
		for _, h := range e.last.Held {
			if h.Searching && h.Run == name && (p.Chunk == 0 || h.Elapsed > p.Elapsed) {
				p.Chunk, p.Elapsed = h.Chunk, h.Elapsed
			}
		}
		all = append(all, p)
	}
	return all
}

// Held returns the chunks of a run that workers present hold, each with the time of the latest
// heartbeat that named it.
func (r *Roster) Held(name string) map[uint64]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	held := make(map[uint64]time.Time)
	for _, e := range r.workers {
		if e.isSilent() {
			continue
		}
		for _, h := range e.last.Held {
			if h.Run == name && e.receivedAt.After(held[h.Chunk]) {
				held[h.Chunk] = e.receivedAt
			}
		}
	}
	return held
}

// Expire forgets the workers that are silent and have not announced that they leave, and
// returns their last heartbeats, sorted by name: the leases of their chunks may have yet to
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
