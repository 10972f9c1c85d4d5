package coordinator

import (
	"context"
	"sync"
	"time"

	"nqueens/pkg/coordinator/core"
	"nqueens/pkg/queens"
)

// post is a [core.Mailbox] for several goroutines.
type post struct {
	lock    sync.Mutex
	box     *core.Mailbox
	waited  time.Duration // the longest of the messages that were read since the last measure
	arrived chan struct{} // has an element after a message has come
}

func newPost() *post { return &post{box: core.NewMailbox(), arrived: make(chan struct{}, 1)} }

func (p *post) put(now time.Duration, m core.Message) {
	p.lock.Lock()
	p.box.Put(now, m)
	p.lock.Unlock()
	select {
	case p.arrived <- struct{}{}:
	default:
	}
}

// next waits for the next message. It returns false when ctx ends. Times count from start.
func (p *post) next(ctx context.Context, start time.Time) (core.Message, bool) {
	for {
		p.lock.Lock()
		m, waited, found := p.box.Take(time.Since(start))
		p.waited = max(p.waited, waited)
		p.lock.Unlock()
		if found {
			return m, true
		}
		select {
		case <-p.arrived:
		case <-ctx.Done():
			return m, false
		}
	}
}

// unread does what [core.Mailbox.Unread] does.
func (p *post) unread() (from []queens.Process, busy bool) {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.box.Unread()
}

// measure returns how long a message has waited at most since the last call, whether it was read or
// still waits, and how many were dropped so far.
func (p *post) measure(now time.Duration) (waited time.Duration, dropped uint64) {
	p.lock.Lock()
	defer p.lock.Unlock()
	waited = max(p.waited, p.box.Waiting(now))
	p.waited = 0
	return waited, p.box.Dropped()
}
