package coordinator

import (
	"context"
	"time"

	"nqueens/pkg/run"
)

// The least time between two beats is greetInterval, and greetEach for each worker: thousands of
// workers may greet at once, and each beat goes to all of them.
const (
	greetInterval = 50 * time.Millisecond
	greetEach     = 100 * time.Microsecond
)

// pauseAfter returns how long to wait after a beat to so many workers.
func pauseAfter(workers int) time.Duration {
	return min(greetInterval+greetEach*time.Duration(workers), run.BeatInterval)
}

// Greet has a beat published at once: a worker is new, or has nothing to do. It may be called at
// any time.
func (c *Coordinator) Greet() {
	select {
	case c.greetings <- struct{}{}:
	default: // one is on its way
	}
}

// beatLoop publishes beats until ctx ends: at once, every [run.BeatInterval], and after Greet.
func (c *Coordinator) beatLoop(ctx context.Context) error {
	tick := time.NewTicker(run.BeatInterval)
	defer tick.Stop()
	for {
		b := c.shared.beat.Load()
		if err := c.beats.PublishBeat(*b); err != nil {
			c.cfg.Log.Debug().Err(err).Msg("can't publish a beat")
		}
		if len(b.Obsolete) > 0 { // once is enough: renewBeat names again what is still held
			short := *b
			short.Obsolete = nil
			c.shared.beat.CompareAndSwap(b, &short)
		}
		workers, _ := c.cfg.Roster.Present()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pauseAfter(workers)):
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-c.greetings:
		}
	}
}

// changeInterval is the least time between beats that say that work waits again.
const changeInterval = 200 * time.Millisecond

// announceWork has a beat published at once if the last one said that nothing waits: workers that
// found the queue empty ask again.
func (c *Coordinator) announceWork(now time.Time) {
	if c.shared.beat.Load().Waiting == 0 && now.Sub(c.announcedAt) > changeInterval {
		c.announcedAt = now
		c.renewBeat(now)
		c.Greet()
	}
}

// renewBeat makes the next beat.
func (c *Coordinator) renewBeat(now time.Time) {
	c.beatenAt = now
	b := c.core.beat()
	c.shared.beat.Store(&b)
}
