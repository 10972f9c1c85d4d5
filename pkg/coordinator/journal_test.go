package coordinator

import (
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// That no worker is connected is logged after 10 s without one, and then every 5 minutes.
func TestNoWorkersAreLogged(t *testing.T) {
	var log strings.Builder
	c := &core{cfg: &Config{Log: zerolog.New(&log)}}
	start := time.Unix(1e9, 0)
	j := newJournal(start)
	for _, step := range []struct {
		after         time.Duration
		workers, want int // lines in all
	}{
		{9 * time.Second, 0, 0}, {10 * time.Second, 0, 1}, {309 * time.Second, 0, 1}, {310 * time.Second, 0, 2},
		{400 * time.Second, 1, 2}, {409 * time.Second, 0, 2}, {410 * time.Second, 0, 3},
	} {
		j.noWorkers(c, start.Add(step.after), step.workers)
		if got := strings.Count(log.String(), "no workers connected"); got != step.want {
			t.Errorf("after %v: %d lines, want %d", step.after, got, step.want)
		}
	}
}
