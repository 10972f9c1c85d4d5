package coordinator

import (
	"fmt"
	"math"
	"time"

	"nqueens/pkg/coordinator/core"
	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
)

// execute does what the core commands. If that includes the end of the run, it waits until the end
// is on disk.
func (s *Coordinator) execute() error {
	c := s.core.Take()
	for _, line := range c.Log {
		if line.Warn {
			s.Logger.Warn().Msg(line.Text)
		} else {
			s.Logger.Info().Msg(line.Text)
		}
	}
	if c.NeedsDisk() {
		s.writes.put(&c)
	}
	if c.OnDisk.End != nil {
		if err := <-s.onDisk; err != nil {
			return err
		}
		s.end = c.OnDisk.End
	}
	for _, r := range c.Replies {
		s.jobs.put(func(at *station) {
			reply := at.reply(s.Options.Instance, &r)
			s.sent(r.Origin.(sender).sendReply(&reply))
		})
	}
	if r := c.Recount; r != nil {
		s.group.Go(func() {
			task := s.Index.Range(r.Task, 1)[0] // the core names tasks of the run only
			count, err := s.Recount(s.ctx, task, r.Kernel, r.Deeper)
			s.inputs.put(func(now time.Duration) { s.core.RecountDone(now, count, err) })
		})
	}
	if c.Announce {
		a := s.core.Announcement()
		s.listener.tell(a)
		if err := s.Wire.Announce(&a); err != nil {
			s.Logger.Debug().Err(err).Msg("the announcement could not be published")
		}
	}
	return nil
}

// write writes the records of all waiting commands together, and then does what had to wait for the
// disk. When the coordinator is closed, write does this once more for what still waits, and ends.
// An error ends [Coordinator.Run]; writes after it fail too: see core.Log.
func (s *Coordinator) write() {
	for open := true; open; {
		select {
		case <-s.writes.ready:
		case <-s.ctx.Done():
			open = false
		}
		err := core.Commit(s.Log, s.writes.take(math.MaxInt), s.onceOnDisk)
		if err != nil {
			s.tellLoop(fmt.Errorf("%w: %s, then resume the run", err, durable.Advice(err)))
		}
	}
}

// onceOnDisk does what had to wait until records were on disk.
func (s *Coordinator) onceOnDisk(c *core.OnDisk) {
	for _, r := range c.Receipts {
		s.jobs.put(func(*station) {
			reply := queens.DeliveryReply{Instance: s.Options.Instance, Receipts: r.Receipts}
			s.sent(r.Origin.(sender).sendReceipts(&reply))
		})
	}
	if c.Total {
		s.group.Go(func() {
			total, err := s.Total(s.ctx)
			s.inputs.put(func(now time.Duration) { s.core.TotalDone(now, total, err) })
		})
	}
	if c.End != nil {
		s.tellLoop(nil)
	}
}

// tellLoop tells the loop that the end is on disk, or why it will never be. Only the first error
// matters.
func (s *Coordinator) tellLoop(err error) {
	select {
	case s.onDisk <- err:
	default:
	}
}

// sent logs why a reply could not be sent. The worker asks again.
func (s *Coordinator) sent(err error) {
	if err != nil {
		s.Logger.Debug().Err(err).Msg("a reply could not be sent")
	}
}
