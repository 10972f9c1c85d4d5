package halves

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// crew counts a row set: the goroutine that has called Count, and those that have called Help. The
// count is a sequence of phases. In each phase, the members take units of work until none is left.
// A member ends each unit that it takes, unless the Count is canceled. Between two phases the
// goroutine of Count works alone.
type crew struct {
	ctx    context.Context // of the Count
	next   atomic.Int64    // the next unit of a phase
	helped time.Duration   // the sum over all helpers; read between two phases

	mu      sync.Mutex
	changed sync.Cond       // a phase begins, its last helper leaves, or a helper is told to end
	phase   func(m *member) // nil between two phases
	phases  uint64          // that have begun
	working int             // helpers in the phase
	all     []*member       // the first is that of Count
	free    []*member       // those that no helper is
}

// member is what a goroutine of a crew has for itself.
type member struct {
	crew  *crew
	ctx   context.Context // of its Count or Help
	pulse *atomic.Uint64
	bin   bin
	found uint64 // pairs, in the phases of a join
}

// reserve makes room for a number of members.
func (c *crew) reserve(members int, k Kernel) {
	c.changed.L = &c.mu
	for range members {
		c.all = append(c.all, &member{crew: c, bin: k.newBin()})
	}
	c.free = append(c.free, c.all[1:]...)
}

// start begins a Count.
func (c *crew) start(ctx context.Context, pulse *atomic.Uint64) {
	c.ctx, c.all[0].ctx, c.all[0].pulse = ctx, ctx, pulse
	c.helped = 0
}

// stays returns false if the member is told to end. Then it takes no further unit.
func (m *member) stays() bool { return m.ctx.Err() == nil }

// poll returns false if the context of the Count has ended, and else increments the pulse. Members
// call it at least every few milliseconds. What they leave when it tells them to stop is wrong, and
// Count drops it.
func (m *member) poll() bool {
	if m.crew.ctx.Err() != nil {
		return false
	}
	m.pulse.Add(1)
	return true
}

// run calls the function phase on all members. It returns when all calls have. A call returns when
// no unit is left that it could take, or the member does not stay.
func (c *crew) run(phase func(m *member)) {
	c.mu.Lock()
	c.phase = phase
	c.phases++
	c.next.Store(0)
	c.changed.Broadcast()
	c.mu.Unlock()
	phase(c.all[0])
	c.mu.Lock()
	c.phase = nil
	for c.working > 0 {
		c.changed.Wait()
	}
	c.mu.Unlock()
}

// take returns a unit of a phase of the given number of units, from 0 on. It returns false if none
// is left, the Count has ended or the member does not stay.
func (m *member) take(units int) (unit int, ok bool) {
	if !m.stays() {
		return 0, false
	}
	unit = int(m.crew.next.Add(1)) - 1
	return unit, unit < units && m.poll()
}

// Help works on the row sets that another goroutine counts with this Counter, until ctx ends. While
// it works, it increments pulse. It returns at once if [Config.Helpers] goroutines help already.
func (c *Counter) Help(ctx context.Context, pulse *atomic.Uint64) { c.crew.help(ctx, pulse) }

// Helped returns how long all helpers together have worked on the last Count, which has ended.
func (c *Counter) Helped() time.Duration { return c.crew.helped }

func (c *crew) help(ctx context.Context, pulse *atomic.Uint64) {
	defer context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) == 0 {
		return
	}
	last := len(c.free) - 1
	m := c.free[last]
	c.free = c.free[:last]
	m.ctx, m.pulse = ctx, pulse
	for seen := uint64(0); ctx.Err() == nil; {
		if c.phase == nil || c.phases == seen {
			c.changed.Wait()
			continue
		}
		phase := c.phase
		seen = c.phases
		c.working++
		c.mu.Unlock()
		start := time.Now()
		phase(m)
		c.mu.Lock()
		c.helped += time.Since(start)
		c.working--
		if c.working == 0 {
			c.changed.Broadcast()
		}
	}
	c.free = append(c.free, m)
}
