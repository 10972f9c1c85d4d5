package worker

import (
	"math/rand/v2"
	"time"
)

// backoff is the pauses between attempts that fail: each is twice the last, between two
// bounds. They have jitter, because all workers may begin to fail at the same moment.
type backoff struct {
	least, most time.Duration
	next        time.Duration // 0 means least
}

// pause returns how long to wait before the next attempt.
func (b *backoff) pause() time.Duration {
	d := max(b.next, b.least)
	b.next = min(2*d, b.most)
	return d/2 + rand.N(d)
}

// reset makes the next pause a short one.
func (b *backoff) reset() { b.next = 0 }
