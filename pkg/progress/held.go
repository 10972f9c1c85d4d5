package progress

import (
	"slices"
	"strings"
	"time"

	"nqueens/pkg/run"
)

// Presence is a worker present, and what it searches.
type Presence struct {
	run.Worker
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
		p := Presence{Worker: r.status(&e)}
		p.Key = e.last.Key
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
// heartbeat that named it; also those of silent workers while heartbeats are dropped, see [Roster.NoteDropped]. It leaves out the workers whose identities are refused, unless refuses is nil.
func (r *Roster) Held(name string, refuses func(Identity) bool) map[uint64]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	held := make(map[uint64]time.Time)
	for _, e := range r.workers {
		if e.isSilent() && !r.isDeaf() || len(e.last.Held) == 0 || refuses != nil && refuses(e.identity()) {
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

// Idler is a worker present that holds chunks of a run, and has reported no result for a while.
type Idler struct {
	Name, Key string
	Chunks    int
	Since     time.Time // of its last result, or since when it is present
}

// HeldWithoutResult returns the worker that holds the most chunks of a run among those present that have
// reported no result for so long; false if there is none.
func (r *Roster) HeldWithoutResult(name string, after time.Duration) (most Idler, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, e := range r.workers {
		since := e.joinedAt
		if at := r.rates[id].countedAt; at.After(since) {
			since = at
		}
		if e.isSilent() || time.Since(since) < after {
			continue
		}
		chunks := 0
		for _, h := range e.last.Held {
			if h.Run == name {
				chunks++
			}
		}
		if chunks > most.Chunks {
			most, found = Idler{id.name, id.key, chunks, since}, true
		}
	}
	return most, found
}
