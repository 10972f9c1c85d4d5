// Package ratelimit limits how often a repeated log message is written. It is not for
// shaping load: nothing waits, and what is not allowed is dropped.
package ratelimit

import (
	"cmp"
	"math"
	"sync"
	"time"
)

// Limits of a [Limiter] that sets none, and the interval of one that allows each key
// only once.
const (
	DefaultInterval = 30 * time.Second
	DefaultMaxKeys  = 100
	Forever         = time.Duration(math.MaxInt64)
)

// Limiter allows each key once per interval. It is safe for concurrent use. The zero
// value is ready to use, with the default limits.
type Limiter struct {
	// Interval is the least time between two messages of a key.
	Interval time.Duration
	// MaxKeys bounds the memory that keys from outside can take. Keys beyond it are
	// never allowed.
	MaxKeys int

	mu   sync.Mutex
	last map[string]time.Time // when each key was last allowed
}

// Allow reports whether to write a message with that key now.
func (l *Limiter) Allow(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, known := l.last[key]
	if known && time.Since(last) < cmp.Or(l.Interval, DefaultInterval) {
		return false
	}
	if !known && len(l.last) >= cmp.Or(l.MaxKeys, DefaultMaxKeys) {
		return false
	}
	if l.last == nil {
		l.last = make(map[string]time.Time)
	}
	l.last[key] = time.Now()
	return true
}
