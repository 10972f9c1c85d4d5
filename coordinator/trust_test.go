//go:build unix

package main_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/queens"
)

// With --redundancy 2 one key is not enough, however long it works. With another the run ends, and
// says what stands behind its total.
func TestRedundancyNeedsTwoKeys(t *testing.T) {
	t.Parallel()
	c, keys := startGuarded(t), t.TempDir()
	count := startCount(t, append(c.as("coordinator"), redundantCount...)...)
	join := func(key string) {
		start(t, "worker", append(c.withToken(), "--threads", "1", "--identity", filepath.Join(keys, key))...)
	}
	join("first")
	count.Await(`"voters":1,.*(the run waits for workers with other keys)`)
	join("second")
	expectRedundant(t, count)
}

// A worker that the coordinator has proven wrong is quarantined, until somebody lifts that; what only
// it had counted is counted again.
func TestQuarantineIsLifted(t *testing.T) {
	t.Parallel()
	coordinator, url := startCluster(t, "8", "--depth", "2", "--place", "0,0", "--symmetry", "none")
	b, run := join(t, url), coordinator.Await(counting)
	release := brake(t, b, run) // so that the run can't end before
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	first := true
	working.Go(func() {
		work(ctx, t, b, run, func(_ queens.Task, count func() uint64) []uint64 {
			if first {
				first = false
				return []uint64{count() + 1, count()}
			}
			return []uint64{count()}
		})
	})
	key := coordinator.Await(`"key":"(U[A-Z2-7]{55})".*"worker quarantined`)
	lift := func(args ...string) clitest.Result {
		return clitest.Run(t, nil, append([]string{"coordinator", "keys", "lift"}, args...)...)
	}
	if got := lift(key, "--data", t.TempDir()); got.Code != 1 || !strings.Contains(got.Stderr, "nothing is lifted") {
		t.Errorf("lifted elsewhere: exit %d, %s", got.Code, got.Stderr)
	}
	if got := lift(key[:55], "--data", coordinator.Flag("--data")); got.Code != 2 {
		t.Errorf("half a key: exit %d, %s", got.Code, got.Stderr)
	}
	if got := lift(key, "--data", coordinator.Flag("--data")); got.Code != 0 {
		t.Errorf("lift: exit %d, %s", got.Code, got.Stderr)
	}
	coordinator.Await(`(quarantine lifted)`)
	release()
	coordinator.ExpectTotal("4")
	stop()
	working.Wait()
}
