package coordinator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
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
// run, at most 2% of the core time otherwise. The run is sampled only if all checks were made; its own
// recounts never make it redundant.
func TestThoroughRunsMakeEveryCheck(t *testing.T) {
	for _, c := range []struct {
		name        string
		share       float64
		thorough    bool
		least, most float64
		level       run.Level
	}{
		{"all, thorough", 1, true, 1, 1, run.Sampled},
		{"half, thorough", 0.5, true, 0.3, 0.7, run.Sampled},
		{"all, but bounded", 1, false, 0.005, 0.03, run.None},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := testkit.Rand(t)
			synctest.Test(t, func(t *testing.T) {
				trust := ledger.Trust{Redundancy: 1, SpotCheck: c.share, Thorough: c.thorough, Seed: [32]byte{byte(rng.Uint32())}}
				s := &simulation{board: 12, trust: trust, fleet: fleetOf(1, 0, 0), checks: true}
				playFleet(t, rng, s, nil)
				s.must(s.c.ledger.SetMissed(s.c.window.missed))
				if got := s.c.ledger.Confirmation(); got.Share() < c.least || got.Share() > c.most || got.Level() != c.level {
					t.Errorf("%.3f of the tasks are checked, from %v to %v wanted; the level is %s", got.Share(), c.least, c.most, got.Level())
				}
				s.stop()
			})
		})
	}
}

// A check by a key that is quarantined later is void, and is made again: what the run promised is made of what
// still counts.
func TestVoidChecksAreMadeAgain(t *testing.T) {
	for range 5 {
		rng := testkit.Rand(t)
		synctest.Test(t, func(t *testing.T) {
			trust := ledger.Trust{Redundancy: 1, SpotCheck: 1, Thorough: true}
			s := &simulation{board: 9, trust: trust, fleet: fleetOf(2, 1, 0.05), checks: true}
			playFleet(t, rng, s, nil)
			s.must(s.c.ledger.SetMissed(s.c.window.missed))
			if got := s.c.ledger.Confirmation(); got.Checked+got.Missed < got.Tasks || len(s.wrongTasks()) > 0 {
				t.Errorf("%d of %d tasks are checked, %d checks are missed; wrong are %v", got.Checked, got.Tasks, got.Missed, s.wrongTasks())
			}
			s.stop()
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

// A task that the coordinator is checking and that has come into another chunk meanwhile is not checked
// twice. What is not parked any more takes no memory.
func TestTaskInAnotherChunkIsCheckedOnce(t *testing.T) {
	rng := testkit.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{t: t, rng: rng, folder: t.TempDir(), trust: ledger.Trust{Redundancy: 1, SpotCheck: 1, Thorough: true}, checks: true}
		s.create()
		c := s.c
		c.reconciled = true
		var task queens.Task
		s.must(split.Find(t.Context(), &c.collector.manifest, []uint64{0}, func(found queens.Task) { task = found }))
		r := queens.Result{Task: 0, Hash: task.Hash(), Count: countOf(task.Hash()), Attempt: 1, Worker: "w", Kernel: "k", Key: "w", Admitted: true}
		_, err := c.ledger.Accept([]queens.Result{r}, nil, run.StreamPosition{})
		s.must(err)
		s.must(c.collector.load(t.Context(), func(*queens.Result) {}))
		c.window.addCheck(0, task.Hash(), 2)
		chunk := c.window.park([]uint64{0})
		s.must(c.considerCopies())
		s.must(c.handleFound([]queens.Task{task}))
		to, check := c.nextCheck()
		if to == nil {
			t.Fatal("there is nothing to check")
		}
		c.sentCheck()
		for range 100 {
			chunk = c.window.copyChunk(chunk, 0)[0]
			s.must(c.considerCopies())
		}
		if len(c.checker.taken) != 1 || len(c.checker.chunks) != 1 || len(c.window.rotation) > 3 {
			t.Errorf("%d tasks of %d chunks are taken; %d chunks have their turn", len(c.checker.taken), len(c.checker.chunks), len(c.window.rotation))
		}
		s.must(c.checked(&verdict{task: check.task, count: queens.TaskCount{Hash: r.Hash, Count: r.Count, Kernel: "other"}}))
		if len(c.checker.taken) != 0 || len(c.checker.chunks) != 0 || len(c.window.tasks) != 0 || !c.ledger.IsRecounted(0) {
			t.Errorf("after the check %d tasks are taken, %d in flight; recounted: %v", len(c.checker.taken), len(c.window.tasks), c.ledger.IsRecounted(0))
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
		if err := s.c.eventLoop(ctx); !errors.Is(err, errQuarantined) || !s.c.ledger.IsVoiding() {
			t.Errorf("it ends with %v; voiding: %v", err, s.c.ledger.IsVoiding())
		}
		s.stop()
	})
}

// A liar that is found when nothing but spot checks was left, which the coordinator makes: what only it
// has counted goes to the workers again.
func TestLiarFoundByTheLastChecks(t *testing.T) {
	rng := testkit.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{board: 9, trust: ledger.Trust{Redundancy: 1, SpotCheck: 1}, fleet: fleetOf(0, 1, 0), checks: true}
		found := false
		playFleet(t, rng, s, func(int) {
			if found || !s.c.onlyChecks() {
				return
			}
			found = true
			s.must(s.c.endChecks())
			s.must(s.c.quarantine(&queens.Result{Key: "liar0", Worker: "liar0", Admitted: true}, 1))
			s.fleet = fleetOf(1, 0, 0)
			s.greet()
		})
		if !found || !s.c.ledger.IsQuarantined("liar0") {
			t.Errorf("the liar was found while checks were left: %v", found)
		}
		s.stop()
	})
}

// A copy of which the first task waits for a spot check by a third key, and another for a second key, which
// is connected, is published: a worker that stopped had counted only the first.
func TestCopyOfTasksWithOtherVotersIsPublished(t *testing.T) {
	rng := testkit.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{t: t, rng: rng, folder: t.TempDir(), trust: ledger.Trust{Redundancy: 2, SpotCheck: 1}, fleet: fleetOf(2, 0, 0)}
		s.create()
		s.greet()
		c := s.c
		c.reconciled = true
		vote := func(task uint64, key string) queens.Result {
			return queens.Result{Task: task, Attempt: 1, Worker: key, Kernel: "k", Key: key, Admitted: true}
		}
		_, err := c.ledger.Accept([]queens.Result{vote(0, "honest0"), vote(0, "honest1"), vote(1, "honest1")}, nil, run.StreamPosition{})
		s.must(err)
		c.window.addCheck(0, 0, 3)
		c.window.tasks[1] = &inflightTask{need: 3}
		chunk := c.window.park([]uint64{0, 1})
		s.must(c.considerCopies())
		if chunk.parked {
			t.Error("it waits, though honest0 has not counted task 1")
		}
		s.stop()
	})
}

// A task that lacks voters is published again, however often workers drew its copies that had counted it; a
// spot check is not.
func TestCopiesForVotersGoOn(t *testing.T) {
	rng := testkit.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{t: t, rng: rng, folder: t.TempDir(), trust: ledger.Trust{Redundancy: 2}, fleet: fleetOf(3, 0, 0)}
		s.create()
		s.greet()
		c := s.c
		c.reconciled = true
		result := queens.Result{Attempt: 1, Worker: "honest0", Kernel: "k", Key: "honest0", Admitted: true}
		check := result
		check.Task, check.Key = 1, "honest1"
		_, err := c.ledger.Accept([]queens.Result{result, check}, nil, run.StreamPosition{})
		s.must(err)
		c.window.tasks[0] = new(inflightTask)
		c.window.addCheck(1, 0, 3)
		for id := range uint64(2) {
			chunk := c.window.park([]uint64{id})
			chunk.vain = manyVain + 1
			s.must(c.considerCopies())
			if isCheck := id == 1; chunk.parked != isCheck {
				t.Errorf("a chunk waits: %v; it is a spot check: %v", chunk.parked, isCheck)
			}
		}
		s.stop()
	})
}
