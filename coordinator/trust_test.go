//go:build unix

package main_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/identity"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
	"nqueens/pkg/worker"
)

// twice publishes each result three times: as the worker signed it, without the proof that the key is admitted,
// and signed by another key.
type twice struct {
	worker.Results
	other *identity.Identity
	sent  atomic.Int64
}

func (p *twice) Publish(ctx context.Context, r *run.ChunkResult) error {
	again, other := *r, *r
	again.Admission, other.Admission = nil, nil
	err := other.Seal(p.other)
	for _, copied := range []*run.ChunkResult{r, &again, &other} {
		if err == nil {
			err = p.Results.Publish(ctx, copied)
		}
	}
	p.sent.Add(1)
	return err
}

// One worker is one voter, whatever it signs its results with: a worker that counts wrong, and sends each
// result also without the proof of its admission and under another key, confirms nothing of its own. The
// total is exact as soon as two others are there, and the worker is quarantined.
func TestOneWorkerIsOneVoter(t *testing.T) {
	long(t)
	c, keys := startGuarded(t), t.TempDir()
	count := startCount(t, append(c.as("coordinator"), "14", "--place", "0,3", "--symmetry", "none", "--redundancy", "2", "--spot-check", "0%")...)
	var ids [2]*identity.Identity // of the liar
	for i := range ids {
		var err error
		if ids[i], err = identity.New(); err != nil {
			t.Fatal(err)
		}
	}
	token, err := identity.LoadToken(c.file("worker/join.token"))
	if err != nil {
		t.Fatal(err)
	}
	k := kernel.Reference()
	honest := k.New
	k.New = func() (kernel.Counter, error) {
		counter, err := honest()
		return liar{counter, testkit.Rand(t), 1, 1, new([]answered)}, err
	}
	publisher := &twice{other: ids[1]}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		cfg := worker.Config{Name: "liar", Identity: ids[0], Admission: identity.Admission([]byte(token.Secret), ids[0].Key()), Kernel: k}
		workHere(ctx, t, c.url, bus.Credentials{Token: token.Secret, TLS: c.tls()}, cfg, func(server worker.Results) worker.Results {
			publisher.Results = server
			return publisher
		})
	})
	count.Await(`"voters":1,.*(the run waits for workers with further admitted keys)`)
	testkit.Eventually(t, "the liar has sent results", func() bool { return publisher.sent.Load() > 0 })
	for _, name := range []string{"first", "second"} {
		start(t, "worker", append(c.withToken(), "--threads", "1", "--identity", filepath.Join(keys, name))...)
	}
	count.Await(`"key":"` + ids[0].Key() + `".*(worker quarantined)`)
	count.ExpectTotal("27494")
	stop()
	working.Wait()
	if count.Lines(`"confirmed":"redundant","keys":2,`) != 1 {
		t.Error("the log does not say that two keys agree on every task")
	}
}

// A worker that the coordinator has proven wrong is quarantined, until somebody lifts that; what only
// it had counted is counted again.
func TestQuarantineIsLifted(t *testing.T) {
	long(t)
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
