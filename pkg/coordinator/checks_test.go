package coordinator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// ownChecks plays the goroutines that count the coordinator's own spot checks.
func (s *simulation) ownChecks() {
	for to, check := s.c.nextCheck(); to != nil; to, check = s.c.nextCheck() {
		s.c.sentCheck()
		count := queens.TaskCount{Hash: check.task.Hash(), Count: countOf(check.task.Hash()), Kernel: "other", Elapsed: time.Millisecond}
		s.must(s.c.checked(&verdict{task: check.task, count: count}))
	}
}

// Where no other voter is connected, the coordinator makes the spot checks: all of them in a thorough
// run, at most 2% of the core time otherwise. What stands behind the counts says how many.
func TestThoroughRunsMakeEveryCheck(t *testing.T) {
	for _, c := range []struct {
		name        string
		share       float64
		thorough    bool
		least, most float64
		level       run.Level
	}{
		{"all, thorough", 1, true, 1, 1, run.Redundant},
		{"half, thorough", 0.5, true, 0.3, 0.7, run.Sampled},
		{"all, but bounded", 1, false, 0.005, 0.03, run.Sampled},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := testkit.Rand(t)
			synctest.Test(t, func(t *testing.T) {
				trust := ledger.Trust{Redundancy: 1, SpotCheck: c.share, Thorough: c.thorough, Seed: [32]byte{byte(rng.Uint32())}}
				s := &simulation{board: 12, trust: trust, fleet: fleetOf(1, 0, 0), checks: true}
				playFleet(t, rng, s, nil)
				if got := s.c.ledger.Confirmation(); got.Share() < c.least || got.Share() > c.most || got.Level() != c.level {
					t.Errorf("%.3f of the tasks are checked, from %v to %v wanted; the level is %s", got.Share(), c.least, c.most, got.Level())
				}
				s.stop()
			})
		})
	}
}

// A thorough run publishes nothing more while too many tasks wait to be checked: the checks may be
// slower than the workers.
func TestChecksHoldBackAThoroughRun(t *testing.T) {
	w := newTestWindow(t, 12, func(uint64) bool { return false })
	w.most = 2
	for id := range uint64(2) {
		w.addCheck(id, 1, 2)
	}
	if _, ok := w.fetch(); ok {
		t.Error("a chunk is published")
	}
	w.accepted(0, 0, 0)
	if _, ok := w.fetch(); !ok {
		t.Error("no chunk is published after a check")
	}
}

// However many chunks wait for a voter, one call considers a bounded number of them, and each has its
// turn.
func TestConsideringIsBounded(t *testing.T) {
	rng := testkit.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{t: t, rng: rng, folder: t.TempDir(), board: 12}
		s.create()
		c := s.c
		c.reconciled = true
		const chunks = 2*maxConsidered + 50
		batch := make([]queens.Result, chunks)
		for id := range batch {
			batch[id] = queens.Result{Task: uint64(id), Attempt: 1, Worker: "w", Kernel: "k", Key: "w", Admitted: true}
		}
		_, err := c.ledger.Accept(batch, nil, run.StreamPosition{})
		s.must(err)
		for id := range uint64(chunks) {
			c.window.addCheck(id, 0, 2)
			c.window.park([]uint64{id})
		}
		c.considerAll()
		for step := 1; c.toConsider > 0; step++ {
			s.must(c.considerCopies())
			looked := 0
			for chunk := range c.window.parked {
				if chunk.voters != nil {
					looked++
				}
			}
			if want := min(step*maxConsidered, chunks); looked != want {
				t.Fatalf("after %d calls %d chunks were considered, want %d", step, looked, want)
			}
		}
		if len(c.window.rotation) != chunks {
			t.Errorf("%d chunks have their turn, want %d", len(c.window.rotation), chunks)
		}
		s.stop()
	})
}

// The event loop ends with its context, however much there is to void.
func TestContextEndsVoiding(t *testing.T) {
	rng := testkit.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{t: t, rng: rng, folder: t.TempDir()}
		s.create()
		r := queens.Result{Task: 1, Attempt: 1, Worker: "w", Kernel: "k", Key: "liar", Admitted: true}
		_, err := s.c.ledger.Accept([]queens.Result{r}, nil, run.StreamPosition{})
		s.must(err)
		s.must(s.c.ledger.Quarantine(ledger.Quarantined{Key: "liar"}))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errQuarantined)
		if err := s.c.eventLoop(ctx); err != errQuarantined || !s.c.ledger.IsVoiding() {
			t.Errorf("it ends with %v; voiding: %v", err, s.c.ledger.IsVoiding())
		}
		s.stop()
	})
}
