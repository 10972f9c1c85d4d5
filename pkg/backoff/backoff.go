// Package backoff says how long to wait between attempts that fail.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Backoff is the pauses between attempts that fail: each is twice the last, from Least to Most. They have
// jitter of half of their length, because many processes may begin to fail at the same moment.
type Backoff struct {
	Least, Most time.Duration
	next        time.Duration // 0 means Least
}

// Pause returns how long to wait before the next attempt.
func (b *Backoff) Pause() time.Duration {
	d := max(b.next, b.Least)
	b.next = min(2*d, b.Most)
	return d/2 + rand.N(d)
}

// Reset makes the next pause a short one.
func (b *Backoff) Reset() { b.next = 0 }
