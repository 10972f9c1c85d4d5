package coordinator

import (
	"context"
	"time"

	"nqueens/pkg/run"
)

// The least time between two announcements is greetInterval, and greetEach for each worker: thousands of
// workers may greet at once, and each announcement goes to all of them.
const (
	greetInterval = 50 * time.Millisecond
	greetEach     = 100 * time.Microsecond
)

// pauseAfter returns how long to wait after an announcement to that number of workers.
func pauseAfter(workers int) time.Duration {
	return min(greetInterval+greetEach*time.Duration(workers), run.AnnouncementInterval)
}

// Greet has an announcement published at once: a worker is new, or has nothing to do. It may be called at
// any time.
func (c *Coordinator) Greet() {
	select {
	case c.greetings <- struct{}{}:
	default: // one is on its way
	}
}

// announcementLoop publishes announcements until ctx ends: at once, every [run.AnnouncementInterval], and after Greet.
func (c *Coordinator) announcementLoop(ctx context.Context) error {
	tick := time.NewTicker(run.AnnouncementInterval)
	defer tick.Stop()
	for {
		b := c.shared.announcement.Load()
		if err := c.announcements.PublishAnnouncement(*b); err != nil {
			c.cfg.Log.Debug().Err(err).Msg("can't publish an announcement")
		}
		if len(b.Obsolete) > 0 { // once is enough: renewAnnouncement names again what is still held
			short := *b
			short.Obsolete = nil
			c.shared.announcement.CompareAndSwap(b, &short)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pauseAfter(c.cfg.Roster.Present().Workers)):
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-c.greetings:
		}
	}
}

// changeInterval is the least time between announcements that say that work waits again.
const changeInterval = 200 * time.Millisecond

// announceWork has an announcement published at once if the last one said that nothing waits: workers that
// found the queue empty ask again.
func (c *Coordinator) announceWork(now time.Time) {
	if c.shared.announcement.Load().Waiting == 0 && now.Sub(c.announcedAt) > changeInterval {
		c.announcedAt = now
		c.renewAnnouncement(now)
		c.Greet()
	}
}

// renewAnnouncement makes the next announcement.
func (c *Coordinator) renewAnnouncement(now time.Time) {
	c.beatenAt = now
	b := c.core.announcement()
	c.shared.announcement.Store(&b)
}
