package ratelimit

import (
	"cmp"
	"sync"
	"time"
)

// DefaultBurst is how many messages of a [Burst] that sets no other number are allowed at once.
const DefaultBurst = 100

// Burst allows some messages of a kind in each interval, and counts the others: one message says then
// how many there were. It is safe for concurrent use. The zero value is ready to use, with the default
// limits.
type Burst struct {
	// Size is how many messages are allowed in an interval.
	Size int
	// Interval begins with a message, if none is under way.
	Interval time.Duration

	mu      sync.Mutex
	begun   time.Time // the interval; zero if none is under way
	allowed int       // in it
	dropped int       // in it
}

// Allow reports whether to write a message now.
func (b *Burst) Allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun.IsZero() {
		b.begun = time.Now()
	}
	if b.allowed >= cmp.Or(b.Size, DefaultBurst) {
		b.dropped++
		return false
	}
	b.allowed++
	return true
}

// Dropped ends an interval that is over, and returns how many messages were not allowed in it. Call it
// every second or so.
func (b *Burst) Dropped() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun.IsZero() || time.Since(b.begun) < cmp.Or(b.Interval, DefaultInterval) {
		return 0
	}
	dropped := b.dropped
	b.begun, b.allowed, b.dropped = time.Time{}, 0, 0
	return dropped
}
