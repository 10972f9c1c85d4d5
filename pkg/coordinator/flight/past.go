package flight

import (
	"maps"
	"time"
)

const (
	// closedFor is how long a closed chunk is remembered at least, unless there are more than maxPast.
	closedFor = time.Minute
	maxPast   = 1 << 20
	// obsoleteAfter is how long a worker may name a chunk that no task is left in: it reports the result, and
	// sends its next heartbeat.
	obsoleteAfter = time.Second
)

// past is what is remembered of a chunk in which no task is left: it says which chunks of workers are obsolete.
type past struct {
	at    time.Time // when the last task left it
	first uint64
	tasks int // of a chunk that was withdrawn with open tasks, whose search may go on; else 0
}

// remember remembers a chunk that the last task left.
func (f *Flight) remember(chunk uint64, p past) {
	if len(f.past) >= maxPast {
		f.forget(p.at)
	}
	if len(f.past) >= maxPast {
		clear(f.past)
	}
	f.past[chunk] = p
}

// forget forgets the chunks that the last task left before a time, unless their search may be the first to end.
func (f *Flight) forget(before time.Time) {
	maps.DeleteFunc(f.past, func(_ uint64, p past) bool { return p.at.Before(before) && !f.isSlow(&p) })
}

// isSlow reports whether a chunk was withdrawn, and a task of it is still in flight.
func (f *Flight) isSlow(p *past) bool {
	for id := p.first; id < p.first+uint64(p.tasks); id++ {
		if f.IsInFlight(id) {
			return true
		}
	}
	return false
}

// IsObsolete reports whether a chunk that a heartbeat named at a time is obsolete. A chunk that was
// withdrawn because it took long is not obsolete while its tasks are in flight: its search may be the first to
// end, for no timeout is known to be long enough before the first result.
func (f *Flight) IsObsolete(chunk uint64, namedAt time.Time) bool {
	if c := f.chunks[chunk]; c != nil && c.open > 0 {
		return false
	}
	p, known := f.past[chunk]
	return !known || !f.isSlow(&p) && namedAt.Sub(p.at) > obsoleteAfter
}
