// Package ratelimit limits how often a repeated log message is written. It is not for
// shaping load: nothing waits, and what is not allowed is dropped.
package ratelimit

import (
	"cmp"
	"maps"
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
	// MaxKeys bounds the memory that keys from outside can take. A key beyond it is not allowed until another has
	// not been allowed for the interval.
	MaxKeys int

	mu   sync.Mutex
	last map[string]time.Time // when each key was last allowed
}

// Allow reports whether to write a message with that key now.
func (l *Limiter) Allow(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	isOver := func(_ string, last time.Time) bool { return time.Since(last) >= cmp.Or(l.Interval, DefaultInterval) }
	last, known := l.last[key]
	if known && !isOver(key, last) {
		return false
	}
	if most := cmp.Or(l.MaxKeys, DefaultMaxKeys); !known && len(l.last) >= most {
		if maps.DeleteFunc(l.last, isOver); len(l.last) >= most {
			return false
		}
	}
	if l.last == nil {
		l.last = make(map[string]time.Time)
	}
	l.last[key] = time.Now()
	return true
}
