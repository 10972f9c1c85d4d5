package ratelimit

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestEachKeyIsAllowedOncePerInterval(t *testing.T) {
	for _, interval := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			l := Limiter{Interval: interval}
			half := max(interval, DefaultInterval) / 2
			expect := func(key string, want bool) {
				t.Helper()
				if got := l.Allow(key); got != want {
					t.Errorf("interval %v: Allow(%q) = %v, want %v", interval, key, got, want)
				}
			}
			expect("a", true)
			expect("a", false)
			time.Sleep(half)
			expect("b", true)
			expect("a", false)
			time.Sleep(half)
			expect("a", true)
			expect("b", false)
			expect("a", false)
		})
	}
}

func TestForeverAllowsEachKeyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limiter{Interval: Forever}
		if !l.Allow("a") {
			t.Error("the first message is not allowed")
		}
		time.Sleep(1000 * time.Hour)
		if l.Allow("a") {
			t.Error("the key is allowed again")
		}
	})
}

// Keys from outside cannot fill the memory, and the known ones are still allowed.
func TestKeysAreBounded(t *testing.T) {
	for _, maxKeys := range []int{0, 7} {
		synctest.Test(t, func(t *testing.T) {
			l := Limiter{MaxKeys: maxKeys}
			want := maxKeys
			if want == 0 {
				want = DefaultMaxKeys
			}
			allowed := 0
			for i := range 10 * want {
				if l.Allow(fmt.Sprint(i)) {
					allowed++
				}
			}
			if allowed != want || len(l.last) != want {
				t.Errorf("%d keys are allowed and %d are kept, want %d", allowed, len(l.last), want)
			}
			time.Sleep(DefaultInterval)
			if !l.Allow("0") || !l.Allow("new") {
				t.Error("after the interval a known key or a new one is not allowed")
			}
		})
	}
}
