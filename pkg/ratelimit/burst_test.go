package ratelimit

import (
	"testing"
	"testing/synctest"
	"time"
)

// Of a flood of messages a number is allowed in each interval, and the others are counted once, after it.
func TestBurst(t *testing.T) {
	for _, interval := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			b := Burst{Size: 3, Interval: interval}
			expect := func(when string, want int) {
				t.Helper()
				if got := b.Dropped(); got != want {
					t.Errorf("%s: %d dropped, want %d", when, got, want)
				}
			}
			expect("before the first", 0)
			for range 3 {
				for i := range 10 {
					if got := b.Allow(); got != (i < 3) {
						t.Errorf("message %d: %v", i, got)
					}
				}
				expect("in the interval", 0)
				time.Sleep(max(interval, DefaultInterval))
				expect("after the interval", 7)
				expect("again", 0)
			}
			b.Allow()
			time.Sleep(max(interval, DefaultInterval))
			expect("after one message", 0)
		})
	}
}
