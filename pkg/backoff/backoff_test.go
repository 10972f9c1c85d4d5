package backoff

import (
	"testing"
	"time"
)

// Pauses double up to the most, and begin anew after a success.
func TestBackoff(t *testing.T) {
	b := Backoff{Least: time.Second, Most: 5 * time.Second}
	for range 2 {
		for i, want := range []time.Duration{1, 2, 4, 5, 5} {
			if got := b.Pause(); got < want*time.Second/2 || got >= want*time.Second*3/2 {
				t.Errorf("pause %d is %v, want %v s and half of that more or less", i, got, int(want))
			}
		}
		b.Reset()
	}
}
