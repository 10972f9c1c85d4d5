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
// and of their chunks no more than maxHeld. The coordinator asks the server after the others. Of one key
// it takes maxKeyWorkers, as many as one process of this program runs, and maxKeyHeld chunks: one key
// does not keep the workers of others out.
const (
	maxWorkers    = 1 << 17
	maxHeld       = 1 << 20
	maxKeyWorkers = 1 << 12
	maxKeyHeld    = 1 << 16
	// maxGone bounds what is remembered of workers that have gone.
	maxGone = 1 << 17
)

const (
	// heartbeatTimeout is how long a worker may be silent before it counts as lost: several
	// heartbeats.
	heartbeatTimeout = 15 * time.Second
	// lateAfter is how long after the last sign of a worker it has no rate any more: two of its heartbeats are
	// missing.
	lateAfter = 7 * time.Second
)

// Roster knows the workers by their heartbeats. A worker is present from its first
// heartbeat until it announces that it leaves, or has been silent for 15 seconds. It is known by its key
// and its name: nobody speaks for the worker of another key. A Roster is safe for concurrent use.
type Roster struct {
	mu      sync.Mutex
	workers map[worker]entry
	keys    map[string]keyUse     // of the workers known
	held    int                   // chunks in the last heartbeats of all workers
	gone    map[worker]time.Time  // last heartbeats of workers that are not known any more: none of them is taken again
	rates   map[worker]workerRate // also of workers that are not present
	runs    map[string]time.Time  // runs that are alive, and their last announcements
	// droppedAt is when heartbeats were last dropped, see NoteDropped.
	droppedAt time.Time
}

// worker identifies a worker: its key, and the name that the owner of the key gives it.
type worker struct{ key, name string }

func workerOf(h *run.Heartbeat) worker { return worker{h.Key, h.Worker} }

type entry struct {
	last       run.Heartbeat
	receivedAt time.Time
	joinedAt   time.Time
}

// keyUse is how many workers a roster knows of one key, and the chunks that these hold.
type keyUse struct{ workers, held int }

func (e entry) isSilent() bool { return time.Since(e.receivedAt) > heartbeatTimeout }

// NewRoster returns a roster without workers.
func NewRoster() *Roster {
	return &Roster{
		workers: make(map[worker]entry), keys: make(map[string]keyUse), gone: make(map[worker]time.Time),
		rates: make(map[worker]workerRate), runs: make(map[string]time.Time),
	}
}

// NoteDropped notes that heartbeats were dropped unheard. For 30 seconds after that, silence shows nothing:
// no worker is lost, and what silent workers hold stays held.
func (r *Roster) NoteDropped() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.droppedAt = time.Now()
}

// isDeaf reports whether heartbeats were dropped lately. The caller holds the lock.
func (r *Roster) isDeaf() bool {
	return !r.droppedAt.IsZero() && time.Since(r.droppedAt) <= 2*heartbeatTimeout
}

// Change is what a heartbeat changes in a roster.
type Change int

// The changes.
const (
	Stays Change = iota // or leaves without having been known
	Joins
	Leaves
)

// ObserveHeartbeat records a heartbeat and returns what it changes. It ignores one that is not newer than
// the last one of the worker: somebody plays it again.
func (r *Roster) ObserveHeartbeat(h run.Heartbeat) Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := workerOf(&h)
	before, known := r.workers[id]
	last, use := r.gone[id], r.keys[id.key]
	if known {
		last = before.last.Sent
	}
	switch {
	case !h.Sent.IsZero() && !h.Sent.After(last):
		return Stays
	case h.Leaving && known:
		r.forget(id, h.Sent)
		return Leaves
	case h.Leaving, !known && (len(r.workers) >= maxWorkers || use.workers >= maxKeyWorkers):
		return Stays
	}
	now := time.Now()
	next := entry{last: h, receivedAt: now, joinedAt: before.joinedAt}
	if !known {
		next.joinedAt = now
		use.workers++
		delete(r.gone, id)
	}
	had := len(before.last.Held)
	if room := max(0, min(maxHeld-r.held, maxKeyHeld-use.held)+had); room < len(h.Held) {
		next.last.Held = slices.Clone(h.Held[:room]) // the rest is not kept in memory
	}
	r.held += len(next.last.Held) - had
	use.held += len(next.last.Held) - had
	r.workers[id], r.keys[id.key] = next, use
	if known {
		return Stays
	}
	return Joins
}

// forget removes a worker, and remembers when it sent its last heartbeat.
func (r *Roster) forget(id worker, sent time.Time) {
	held, use := len(r.workers[id].last.Held), r.keys[id.key]
	r.held -= held
	use.held -= held
	use.workers--
	if r.keys[id.key] = use; use.workers == 0 {
		delete(r.keys, id.key)
	}
	if len(r.gone) >= maxGone {
		clear(r.gone)
	}
	r.gone[id] = sent
	delete(r.workers, id)
	delete(r.rates, id)
}

// maxRuns bounds the runs that a roster remembers: names come from outside.
const maxRuns = 1000

// ObserveAnnouncement records an announcement of a run.
func (r *Roster) ObserveAnnouncement(a run.Announcement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.runs, func(_ string, at time.Time) bool { return time.Since(at) > run.SilentAfter })
	if a.State != run.Running {
		delete(r.runs, a.Run)
	} else if len(r.runs) < maxRuns {
		r.runs[a.Run] = time.Now()
	}
}

// Others returns the runs that are alive beside the given one, sorted; at most
// [run.MaxSharing].
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
	return others[:min(len(others), run.MaxSharing)]
}

// present returns the entries of the workers present, in no order. The caller holds the
// lock.
func (r *Roster) present() []entry {
	return slices.DeleteFunc(slices.Collect(maps.Values(r.workers)), entry.isSilent)
}

// Fleet is how many workers are present.
type Fleet struct {
	Workers, Paused int // all of them, and those that pause
	Threads         int // of those that do not pause
	Idle            int // threads of these that search nothing, as far as their heartbeats say
}

// Present returns how many workers are present.
func (r *Roster) Present() (f Fleet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.workers {
		if e.isSilent() {
			continue
		}
		if f.Workers++; e.last.Paused != "" {
			f.Paused++
			continue
		}
		busy := 0
		for _, h := range e.last.Held {
			if h.Searching {
				busy++
			}
		}
		f.Threads += e.last.Threads
		f.Idle += max(e.last.Threads-max(busy, e.last.Busy), 0)
	}
	return f
}

// Identity is the key with which a worker says that it signs its results, and the proof that it was
// admitted; see [run.Heartbeat].
type Identity struct {
	Key       string
	Admission []byte
	Paused    bool // the worker counts nothing for now
}

// Identities returns what the workers present say who they are, in no order.
func (r *Roster) Identities() []Identity {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Identity
	for _, e := range r.present() {
		all = append(all, e.identity())
	}
	return all
}

func (e entry) identity() Identity {
	return Identity{Key: e.last.Key, Admission: e.last.Admission, Paused: e.last.Paused != ""}
}

// Workers returns the workers present, sorted by name, with their chunks and rates. If there
// are more than [run.MaxWorkers], it returns those that have been searching a chunk the longest.
// A worker whose last heartbeat names no search is idle, and has no rate, unless a result of it has
// come since. Nor has one that pauses, or of which two heartbeats are missing.
func (r *Roster) Workers() []run.Worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	workers := []run.Worker{}
	for _, e := range r.present() {
		workers = append(workers, r.status(&e))
	}
	byName := func(a, b run.Worker) int { return strings.Compare(a.Name, b.Name) }
	if len(workers) > run.MaxWorkers {
		slices.SortFunc(workers, func(a, b run.Worker) int {
			return cmp.Or(cmp.Compare(b.Oldest.Duration, a.Oldest.Duration), byName(a, b))
		})
		workers = workers[:run.MaxWorkers]
	}
	slices.SortFunc(workers, byName)
	return workers
}

// status returns what the last heartbeat of a worker says. The caller holds the lock.
func (r *Roster) status(e *entry) run.Worker {
	h := &e.last
	rate := r.rates[workerOf(h)]
	w := run.Worker{Name: h.Worker, Kernel: h.Kernel, Threads: h.Threads, Paused: h.Paused}
	for _, held := range h.Held {
		if held.Searching {
			w.Held++
			w.Oldest.Duration = max(w.Oldest.Duration, held.Elapsed+time.Since(e.receivedAt))
		}
	}
	if w.Paused != "" {
		return w
	}
	counted := !rate.countedAt.Before(e.receivedAt)
	if counted && time.Since(rate.countedAt) <= lateAfter || w.Held > 0 && time.Since(e.receivedAt) <= lateAfter {
		w.Rate = rate.perSecond(h.Threads)
	}
	return w
}

// Expire forgets the workers that are silent and have not announced that they leave, and
// returns their last heartbeats, sorted by name: the leases of their chunks may have yet to
// lapse. A worker that is heard of later joins again. While heartbeats are dropped it returns nobody, see
// [Roster.NoteDropped]. Until Expire is called, the roster
// keeps silent workers.
func (r *Roster) Expire() []run.Heartbeat {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isDeaf() {
		return nil
	}
	var lost []run.Heartbeat
	for id, e := range r.workers {
		if e.isSilent() {
			lost = append(lost, e.last)
			r.forget(id, e.last.Sent)
		}
	}
	slices.SortFunc(lost, func(a, b run.Heartbeat) int {
		return cmp.Or(strings.Compare(a.Worker, b.Worker), strings.Compare(a.Key, b.Key))
	})
	return lost
}
