package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/queens"
)

// That no worker is connected is logged after 10 s without one, with the command that starts one, and then after 1
// minute, 5 minutes, 30 minutes, and every hour. A worker begins that again.
func TestNoWorkersAreLogged(t *testing.T) {
	var log strings.Builder
	c := &core{cfg: &Config{Log: zerolog.New(&log), Join: "worker --nats nats://a:4222"}}
	start := time.Unix(1e9, 0)
	j := newJournal(start)
	for _, step := range []struct {
		after         time.Duration
		workers, want int // lines in all
	}{
		{9 * time.Second, 0, 0}, {10 * time.Second, 0, 1}, {69 * time.Second, 0, 1}, {70 * time.Second, 0, 2},
		{369 * time.Second, 0, 2}, {370 * time.Second, 0, 3}, {2169 * time.Second, 0, 3}, {2170 * time.Second, 0, 4},
		{5769 * time.Second, 0, 4}, {5770 * time.Second, 0, 5}, {9370 * time.Second, 0, 6},
		{9400 * time.Second, 1, 6}, {9409 * time.Second, 0, 6}, {9410 * time.Second, 0, 7}, {9470 * time.Second, 0, 8},
	} {
		j.noWorkers(c, start.Add(step.after), step.workers)
		if got := strings.Count(log.String(), "no workers connected; start one with: worker --nats nats://a:4222"); got != step.want {
			t.Errorf("after %v: %d lines, want %d", step.after, got, step.want)
		}
	}
}

// The disputes that a result of many tasks opens are one line of the log.
func TestManyDisputesAreOneLine(t *testing.T) {
	var log strings.Builder
	c, _ := newTestCoordinator(t, 8, 2, queens.Mirror)
	c.cfg.Log = zerolog.New(&log)
	tasks := c.core.manifest.Tasks
	for count, worker := range []string{"a", "b"} {
		if err := c.core.deliver(time.Now(), []delivery{{result: c.core.resultOfAll(worker, uint64(count))}}); err != nil {
			t.Fatal(err)
		}
	}
	want := fmt.Sprintf("; %d more tasks likewise", tasks-1)
	if got := log.String(); strings.Count(got, "dispute: task ") != 1 || !strings.Contains(got, want) {
		t.Errorf("the log has\n%s\nand not, once, %q", got, want)
	}
}
