package coordinator

import (
	"context"
	"time"

	"nqueens/pkg/run"
)

// event is something that has happened, which the event loop takes up.
type event func(now time.Time) error

// maxBatch is about the number of results that are recorded together. One transaction of the
// ledger costs as much time as some hundred results.
const maxBatch = 2048

// endInterval is the time between ticks when only spot checks are left.
const endInterval = 10 * time.Millisecond

// eventLoop takes up events until every task is done. While it runs, nothing else uses the core and the ledger.
func (c *Coordinator) eventLoop(ctx context.Context) error {
	interval := min(c.cfg.ReportEvery, c.cfg.CheckAfter/sweeps, run.AnnouncementInterval)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	ending := false
	now := make(chan struct{}) // closed: there is more to do
	close(now)
	for !c.core.isComplete() {
		more, err := c.core.advance(time.Now())
		if err != nil {
			return err
		}
		if ends := c.core.agreement.OnlyChecks(); ends != ending { // a short run should not wait for the next tick
			if ending = ends; ending {
				tick.Reset(min(interval, endInterval))
				err = c.core.tick(time.Now())
			} else {
				tick.Reset(interval)
			}
			if err != nil {
				return err
			}
			continue
		}
		c.dispatch(ctx)
		c.shareHoldings()
		var again <-chan struct{}
		if more {
			again = now
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again:
		case e := <-c.events:
			err = e(time.Now())
		case d := <-c.deliveries:
			err = c.deliver(d)
		case <-tick.C:
			err = c.tick(time.Now())
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil { // however much else there is to do
			return context.Cause(ctx)
		}
	}
	return nil
}

// deliver records a result, and those that wait behind it.
func (c *Coordinator) deliver(first delivery) error {
	batch, weight := []delivery{first}, len(first.result.Counts)
	for weight < maxBatch && len(c.deliveries) > 0 {
		next := <-c.deliveries
		weight += len(next.result.Counts)
		batch = append(batch, next)
	}
	return c.core.deliver(time.Now(), batch)
}

// tick does what is done a few times a second, reports and renews the announcement.
func (c *Coordinator) tick(now time.Time) error {
	if len(c.deliveries) > 0 { // a task whose result is here is not overdue
		if err := c.deliver(<-c.deliveries); err != nil || c.core.isComplete() {
			return err
		}
	}
	if err := c.core.tick(now); err != nil {
		return err
	}
	if now.Sub(c.reportedAt) >= c.cfg.ReportEvery {
		c.reportedAt = now
		c.core.measureBottleneck(now, len(c.deliveries) == cap(c.deliveries))
		s := c.core.measure(now)
		c.report(s)
		c.core.journal.noWorkers(c.core, now, s.Workers)
		c.core.journal.fewVoters(c.core, now)
	}
	if now.Sub(c.beatenAt) >= run.AnnouncementInterval {
		c.renewAnnouncement(now)
	}
	return nil
}

// report passes a snapshot on.
func (c *Coordinator) report(s run.Snapshot) {
	c.shared.snapshot.Store(&s)
	c.cfg.OnSnapshot(s)
}

// dispatch has what the core orders carried out, each order in a goroutine of its own. Agreement bounds how many counts it
// orders at a time.
func (c *Coordinator) dispatch(ctx context.Context) {
	for c.dispatched < dispatchers {
		command, ok := c.core.flight.Next()
		if !ok {
			break
		}
		c.dispatched++
		c.working.Go(func() {
			if o, ok := c.execute(ctx, &command); ok {
				c.post(ctx, func(now time.Time) error { c.completed(now, &o); return nil })
			}
		})
	}
	for _, o := range c.core.own {
		c.working.Go(func() {
			count, err := c.count(ctx, &o)
			c.post(ctx, func(now time.Time) error { return c.core.counted(now, &o, count, err) })
		})
	}
	c.core.own = c.core.own[:0]
}

// receiveLoop passes the results of the run after a position from the stream to the event
// loop, which records them in batches, until ctx ends.
func (c *Coordinator) receiveLoop(ctx context.Context, after run.StreamPosition) error {
	return c.results.Read(ctx, c.run, after, func(r run.ChunkResult, at run.StreamPosition) {
		c.pass(ctx, delivery{result: r, position: at, wrong: hasWrongHash(c.core.index, &r)})
	}, func(asOf time.Time) {
		c.pass(ctx, delivery{caughtUp: asOf})
	})
}

// pass passes a delivery to the event loop, unless ctx ends first.
func (c *Coordinator) pass(ctx context.Context, d delivery) {
	select {
	case c.deliveries <- d:
	case <-ctx.Done():
	}
}

// post passes an event to the event loop, unless ctx ends first.
func (c *Coordinator) post(ctx context.Context, e event) {
	select {
	case c.events <- e:
	case <-ctx.Done():
	}
}
