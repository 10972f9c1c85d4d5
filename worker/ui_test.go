package main

import (
	"testing"
	"time"
)

// The rate is that of the last ten seconds, or of the time since the start.
func TestRateOfTheLastSeconds(t *testing.T) {
	var m rateMeter
	start := time.Now()
	for _, c := range []struct {
		seconds float64
		tasks   uint64
		want    float64
	}{
		{0, 5, 0}, {1, 10, 5}, {5, 30, 5}, {10, 55, 5}, {15, 80, 5}, {20, 80, 2.5}, {30, 80, 0},
	} {
		at := start.Add(time.Duration(c.seconds * float64(time.Second)))
		if got := m.measure(at, c.tasks); got != c.want {
			t.Errorf("after %v s with %d tasks the rate is %v, want %v", c.seconds, c.tasks, got, c.want)
		}
	}
}
