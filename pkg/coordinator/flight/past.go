package flight

import "time"

const (
	// closedFor is how long a closed chunk is remembered at least, unless there are more than maxClosed.
	closedFor = time.Minute
	maxClosed = 1 << 20
	// obsoleteAfter is how long a worker may name a chunk that no task is left in: it reports the result, and
	// sends its next heartbeat.
	obsoleteAfter = time.Second
	// maxSlow bounds the chunks that are remembered because they may still end first.
	maxSlow = 1 << 16
)

// past remembers chunks in which no task is left. The ids of those of the last minute, with the time at which
// the last task left, tell which chunks workers hold in vain.
type past struct {
	closed, older map[uint64]time.Time // older has those from before since
	since         time.Time
	slow          map[uint64]Span // withdrawn chunks whose search may go on
	slowOrder     []uint64        // their ids, in order of withdrawal
}

func newPast() past {
	return past{closed: make(map[uint64]time.Time), slow: make(map[uint64]Span)}
}

// add remembers a chunk that the last task left now.
func (p *past) add(now time.Time, chunk uint64) {
	if len(p.closed) >= maxClosed {
		p.closed, p.older = make(map[uint64]time.Time), p.closed
	}
	p.closed[chunk] = now
}

// addSlow remembers a chunk that was withdrawn with open tasks.
func (p *past) addSlow(c *chunk) {
	if len(p.slowOrder) == maxSlow {
		delete(p.slow, p.slowOrder[0])
		p.slowOrder = p.slowOrder[1:]
	}
	p.slow[c.id] = Span{First: c.first, Tasks: c.tasks}
	p.slowOrder = append(p.slowOrder, c.id)
}

// sweep forgets, once in closedFor, the chunks that the last task left more than closedFor ago, and the slow ones
// of which no task is in flight.
func (p *past) sweep(now time.Time, isInFlight func(task uint64) bool) {
	if now.Sub(p.since) <= closedFor {
		return
	}
	p.closed, p.older, p.since = make(map[uint64]time.Time), p.closed, now
	kept := p.slowOrder[:0]
	for _, id := range p.slowOrder {
		if p.isSlow(id, isInFlight) {
			kept = append(kept, id)
		} else {
			delete(p.slow, id)
		}
	}
	p.slowOrder = kept
}

// isSlow reports whether a chunk was withdrawn, and a task of it is still in flight.
func (p *past) isSlow(chunk uint64, isInFlight func(task uint64) bool) bool {
	slow := p.slow[chunk]
	for id := slow.First; id < slow.First+uint64(slow.Tasks); id++ {
		if isInFlight(id) {
			return true
		}
	}
	return false
}

// closedAt returns when the last task left a chunk, if that is remembered.
func (p *past) closedAt(chunk uint64) (at time.Time, known bool) {
	if at, known = p.closed[chunk]; !known {
		at, known = p.older[chunk]
	}
	return at, known
}

// IsObsolete reports whether a worker holds a chunk in vain that a heartbeat named at a time. A chunk that was
// withdrawn because it took long is not obsolete while its tasks are in flight: its search may be the first to
// end, for no timeout is known to be long enough before the first result.
func (f *Flight) IsObsolete(chunk uint64, namedAt time.Time) bool {
	if c := f.chunks[chunk]; c != nil && c.open > 0 || f.past.isSlow(chunk, f.IsInFlight) {
		return false
	}
	at, known := f.past.closedAt(chunk)
	return !known || namedAt.Sub(at) > obsoleteAfter
}
