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
	// maxGone bounds what is remembered of workers that have gone, of all keys.
	maxGone = 1 << 17
)

// heartbeatTimeout is how long a worker may be silent before it counts as lost: several
// heartbeats.
const heartbeatTimeout = 15 * time.Second

// Roster knows the workers by their heartbeats. A worker is present from its first
// heartbeat until it announces that it leaves, or has been silent for 15 seconds. It is known by its key
// and its name: nobody speaks for the worker of another key. A Roster is safe for concurrent use.
type Roster struct {
	mu      sync.Mutex
	workers map[worker]entry
	keys    map[string]*keyUse    // of the workers known, and of some that have gone
	held    int                   // chunks in the last heartbeats of all workers
	rates   map[worker]workerRate // also of workers that are not present
	runs    map[string]time.Time  // runs that are alive, and their last beats
	// droppedAt is when heartbeats were last dropped, see NoteDropped.
	droppedAt time.Time
	gone      int // entries of all keyUse.gone
}

// worker identifies a worker: its key, and the name that the owner of the key gives it.
type worker struct{ key, name string }

func workerOf(h *run.Heartbeat) worker { return worker{h.Key, h.Worker} }

type entry struct {
	last       run.Heartbeat
	receivedAt time.Time
	joinedAt   time.Time
}

// keyUse is what a roster holds of one key.
type keyUse struct {
	workers, held int
	// gone has the times of the last heartbeats of workers that are not known any more: none of them is
	// taken again.
	gone map[string]time.Time
}

func (e entry) isSilent() bool { return time.Since(e.receivedAt) > heartbeatTimeout }

// NewRoster returns a roster without workers.
func NewRoster() *Roster {
	return &Roster{
		workers: make(map[worker]entry), keys: make(map[string]*keyUse), rates: make(map[worker]workerRate),
		runs: make(map[string]time.Time),
	}
}

// NoteDropped notes that heartbeats were dropped unheard. For 30 seconds from then on, silence shows nothing:
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
	last := before.last.Sent
	use := r.keys[id.key]
	if !known && use != nil {
		last = use.gone[id.name]
	}
	switch {
	case !h.Sent.IsZero() && !h.Sent.After(last):
		return Stays
	case h.Leaving && known:
		before.last.Sent = h.Sent
		r.workers[id] = before
		r.forget(id)
		return Leaves
	case h.Leaving:
		return Stays
	case !known && (len(r.workers) >= maxWorkers || use != nil && use.workers >= maxKeyWorkers):
		return Stays
	}
	now := time.Now()
	next := entry{last: h, receivedAt: now, joinedAt: before.joinedAt}
	if !known {
		next.joinedAt = now
		use = r.use(id.key)
		use.workers++
		r.heardAgain(use, id.name)
	}
	had := len(before.last.Held)
	if room := max(0, min(maxHeld-r.held, maxKeyHeld-use.held)+had); room < len(h.Held) {
		next.last.Held = slices.Clone(h.Held[:room]) // the rest is not kept in memory
	}
	r.held += len(next.last.Held) - had
	use.held += len(next.last.Held) - had
	r.workers[id] = next
	if known {
		return Stays
	}
	return Joins
}

// use returns what the roster holds of a key. It forgets the keys without workers when there are too many.
func (r *Roster) use(key string) *keyUse {
	use := r.keys[key]
	if use == nil {
		if len(r.keys) >= maxWorkers {
			r.forgetUnused()
		}
		use = &keyUse{gone: make(map[string]time.Time)}
		r.keys[key] = use
	}
	return use
}

// heardAgain forgets that a worker of a key has gone.
func (r *Roster) heardAgain(use *keyUse, name string) {
	if _, gone := use.gone[name]; gone {
		delete(use.gone, name)
		r.gone--
	}
}

// forgetGone forgets the workers of a key that have gone.
func (r *Roster) forgetGone(use *keyUse) {
	r.gone -= len(use.gone)
	clear(use.gone)
}

// forgetUnused forgets the keys without workers.
func (r *Roster) forgetUnused() {
	maps.DeleteFunc(r.keys, func(_ string, u *keyUse) bool {
		if u.workers == 0 {
			r.forgetGone(u)
		}
		return u.workers == 0
	})
}

func (r *Roster) forget(id worker) {
	e, use := r.workers[id], r.keys[id.key]
	r.held -= len(e.last.Held)
	use.held -= len(e.last.Held)
	use.workers--
	if len(use.gone) >= maxKeyWorkers {
		r.forgetGone(use)
	}
	if r.gone >= maxGone {
		r.forgetUnused()
		if r.gone > maxGone/2 { // else the next ones would have all keys looked at again
			for _, u := range r.keys {
				r.forgetGone(u)
			}
		}
		r.keys[id.key] = use
	}
	use.gone[id.name] = e.last.Sent
	r.gone++
	delete(r.workers, id)
	delete(r.rates, id)
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

// Workers returns the workers present, sorted by name, with their chunks and rates. If there
// are more than [run.MaxWorkers], it returns those that have been searching a chunk the longest.
// A worker whose last heartbeat names no search is idle, and has no rate, unless a result of it has
// come since.
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
	w := run.Worker{Name: h.Worker, Kernel: h.Kernel, Threads: h.Threads}
	for _, held := range h.Held {
		if held.Searching {
			w.Held++
			w.Oldest.Duration = max(w.Oldest.Duration, held.Elapsed+time.Since(e.receivedAt))
		}
	}
	if w.Held > 0 || !rate.countedAt.Before(e.receivedAt) {
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
			r.forget(id)
		}
	}
	slices.SortFunc(lost, func(a, b run.Heartbeat) int {
		return cmp.Or(strings.Compare(a.Worker, b.Worker), strings.Compare(a.Key, b.Key))
	})
	return lost
}
