package backoff

import (
	"testing"
	"time"
)

// Pauses double up to the most, and begin anew after a success.
func TestBackoff(t *testing.T) {
	b := Backoff{Least: time.Second, Most: 5 * time.Second}
	for range 2 {
		for i, want := range []float64{1, 2, 4, 5, 5} {
			if got := b.Pause().Seconds(); got < want/2 || got >= want*3/2 {
				t.Errorf("pause %d is %v s, want %v s and half of that more or less", i, got, want)
			}
		}
		b.Reset()
	}
}
