package coordinator

import (
	"time"

	"nqueens/pkg/progress"
	"nqueens/pkg/schedule"
)

// unreadAfter is how long after the last time at which all results were read some count as unread:
// the reader looks every two seconds.
const unreadAfter = 15 * time.Second

// measureBound measures what bounds the run, for progress and lists of runs. No decision depends
// on it.
func (c *Coordinator) measureBound() {
	_, threads := c.cfg.Roster.Present()
	b := c.boundMeter.Measure(progress.Load{
		Threads: threads, Idle: c.cfg.Roster.Idle(),
		Waiting:      c.beat.Load().Waiting,
		AllPublished: c.window.exhausted && c.window.draft == nil && c.window.next == nil,
		Full:         schedule.IsFull(c.window.active, c.window.bytes),
		Unread:       c.reconciled && time.Since(c.caughtUp) > unreadAfter || len(c.deliveries) == cap(c.deliveries),
	}, c.collector.recording)
	c.bound.Store(&b)
	c.ledger.SetBound(b)
}
