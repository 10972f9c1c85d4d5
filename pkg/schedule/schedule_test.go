package schedule_test

import (
	"testing"

	"nqueens/pkg/schedule"
)

// The window has three chunks a thread, more of short chunks, and fewer of large messages.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		threads        int
		seconds, bytes float64
		want           int
	}{
		{1, 1, 100, 64}, {1000, 10, 100, 3000}, {1000, 1, 100, 4000}, {1000, 0.01, 100, 12000}, {1000, 0, 0, 12000},
		{1000, 0, 1 << 20, 256}, {1_000_000, 10, 1024, 262144}, {1_000_000, 10, 100, 983040},
	} {
		if got := schedule.Window(c.threads, c.seconds, c.bytes); got != c.want {
			t.Errorf("%d threads, chunks of %v s and %v bytes: %d, want %d", c.threads, c.seconds, c.bytes, got, c.want)
		}
	}
}
