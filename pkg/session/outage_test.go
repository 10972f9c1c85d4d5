package session

import (
	"slices"
	"testing"
	"time"
)

// A person is told once in each outage that lasts, and never of short ones.
func TestOutage(t *testing.T) {
	var o outage
	var told []int
	start := time.Now()
	for second := range 400 {
		lost := second >= 10 && second < 60 || second >= 100 && second < 250 || second >= 251
		if o.observe(lost, start.Add(time.Duration(second)*time.Second)) {
			told = append(told, second)
		}
	}
	if want := []int{160, 311}; !slices.Equal(told, want) {
		t.Errorf("told at %v s, want %v", told, want)
	}
}
