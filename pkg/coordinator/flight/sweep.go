package flight

import (
	"slices"
	"time"
)

// Span is consecutive tasks that were published in one chunk.
type Span struct {
	First   uint64
	Tasks   int
	Attempt uint32
}

// Swept is what Sweep has found.
type Swept struct {
	Lost    []Span // chunks that have left the queue without a result that counts
	Expired []Span // chunks without a result for a long time, although the queue has them
	Away    int    // chunks that a worker has taken, that none holds, and that idle workers can count
}

// Workers says what the workers connected do.
type Workers uint8

const (
	// Nobody means that no worker is connected.
	Nobody Workers = iota
	// Busy means that all their threads search.
	Busy
	// Idle means that some of their threads search nothing.
	Idle
)

// Sweep looks at the chunks that are due: call it four times in CheckAfter. It gives the commands to check chunks
// that no worker holds. Open tasks of chunks that are lost, expired or away are published again.
//
// held has the chunks that workers hold, with the time of the last heartbeat that named each. Every result that was
// stored before caughtUp has been read.
//
// While no worker is connected, a chunk that none has taken does not expire: nobody would take another message of
// its tasks either. The queue is still asked whether it has the chunk.
func (f *Flight) Sweep(now time.Time, held map[uint64]time.Time, workers Workers, caughtUp time.Time) (s Swept) {
	f.sent = slices.DeleteFunc(f.sent, func(c *chunk) bool { return c.state == closed })
	for _, c := range f.sent {
		if c.state == missing || c.state == away || c.state == published && !now.Before(c.checkAt) {
			heldAt, isHeld := held[c.id]
			f.sweepChunk(now, c, heldAt, isHeld, workers, caughtUp, &s)
		}
	}
	if now.Sub(f.forgotAt) > closedFor {
		f.forgotAt = now
		f.forget(now.Add(-closedFor))
	}
	return s
}

func (f *Flight) sweepChunk(now time.Time, c *chunk, heldAt time.Time, isHeld bool, workers Workers, caughtUp time.Time, s *Swept) {
	span := Span{c.first, c.tasks, c.attempt}
	switch {
	case c.state == missing:
		if caughtUp.After(c.missingAt) {
			s.Lost = append(s.Lost, span)
			f.replan(now, c, c.first, c.attempt+1)
			f.close(c)
		}
		return
	case c.state == away && isHeld:
		c.to(published)
	case c.state == away && workers == Idle:
		s.Away++
		f.recall(c)
		return
	}
	if c.state == published && workers == Nobody && !isHeld { // the timeout begins when a worker is connected
		c.expiresAt = now.Add(f.timeout(c.tasks, c.attempt))
	}
	switch {
	case now.Before(c.checkAt):
	case !now.Before(c.expiresAt):
		s.Expired = append(s.Expired, span)
		f.recall(c)
	case isHeld && now.Before(heldAt.Add(f.cfg.CheckAfter)):
		c.checkAt = heldAt.Add(f.cfg.CheckAfter)
	default:
		c.to(checking)
		f.orders.others = append(f.orders.others, c)
	}
}

// Withdraw recalls a chunk, so that its open tasks are published again: the results of all workers that hold it are
// refused.
func (f *Flight) Withdraw(chunk uint64) {
	if c := f.chunks[chunk]; c != nil {
		f.recall(c)
	}
}

// A chunk expires after minTimeoutSearches times the longest search of a task so far, for each of its tasks, and
// after RepublishAfter at the least. The time doubles with each attempt, at most maxDoublings times. It is at most
// maxTimeout.
const (
	minTimeoutSearches = 20
	maxDoublings       = 10
	maxTimeout         = 365 * 24 * time.Hour
)

// timeout returns the time from the publication of a chunk to its expiry.
func (f *Flight) timeout(tasks int, attempt uint32) time.Duration {
	searches, doublings := int64(minTimeoutSearches*tasks), min(max(attempt, 1)-1, maxDoublings)
	least := time.Duration(min(f.longest.Nanoseconds(), maxTimeout.Nanoseconds()/searches) * searches)
	return min(max(f.cfg.RepublishAfter, least), maxTimeout>>doublings) << doublings
}
