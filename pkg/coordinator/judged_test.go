package coordinator

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// resumeWith returns a coordinator that goes on after one that had recorded these results, and was killed, and the
// error with which it loads the ledger. A run with a share of spot checks keeps their settings.
func resumeWith(t *testing.T, share float64, known int64, results ...run.Result) (*Coordinator, error) {
	t.Helper()
	folder := t.TempDir()
	l := createLedger(t, folder, 8, 2, queens.Mirror, share)
	_, err := l.Accept(results, 0, run.StreamPosition{})
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	if l, err = ledger.Open(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	c := New(Config{
		Known: big.NewInt(known), Roster: progress.NewRoster(), CheckAfter: time.Second, RepublishAfter: time.Hour,
		DisputeTimeout: time.Second, OnSnapshot: func(run.Snapshot) {}, ReportEvery: time.Hour, Log: zerolog.Nop(),
	}, nil, nil, new(recordedAnnouncements), nil, l)
	return c, c.load(t.Context())
}

// A coordinator that was killed before the first chunk of a new key was checked leaves that to the next one,
// also if its count exceeds the published total. Without spot checks nobody would check it.
func TestLeftChecksAreMadeBeforeTheSumIsCompared(t *testing.T) {
	for _, share := range []float64{0, 0.01} {
		t.Run(fmt.Sprint("share ", share), func(t *testing.T) {
			r := run.Result{Task: 0, Count: 1 << 40, Attempt: 1, Worker: "w", Kernel: "k", Key: "liar", Admitted: true, StatementID: 1}
			r.Sealed = &run.Sealed{Key: r.Key, Statement: []byte{1}, Signature: []byte{1}}
			c, err := resumeWith(t, share, 1000, r)
			if share == 0 {
				if !errors.Is(err, run.ErrContradiction) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if due, _ := c.core.agreement.Checks(); due != 1 {
				t.Errorf("%d spot checks are due", due)
			}
		})
	}
}

// One owner of two keys of the join token, who sends the same count by both at once, has it checked by the coordinator,
// as when the second one comes later.
func TestCountsOfOneTransactionAreChecked(t *testing.T) {
	for _, batch := range []int{1, 2} {
		c, err := resumeWith(t, 1, 1000)
		if err != nil {
			t.Fatal(err)
		}
		c.cfg.Admits = func(string, []byte) (admitted, byToken bool) { return true, true }
		c.cfg.Check = func(context.Context, *queens.Task, ...string) (one run.TaskCount, err error) { return one, nil }
		if err := c.load(t.Context()); err != nil {
			t.Fatal(err)
		}
		var all []delivery
		for _, key := range []string{"a", "b"} {
			r := c.core.resultOfAll(key, 1)
			r.Counts, r.Sealed = r.Counts[:1], &run.Sealed{Key: key, Statement: []byte{1}, Signature: []byte{1}}
			all = append(all, delivery{result: r})
		}
		for some := range slices.Chunk(all, batch) {
			if err := c.core.deliver(time.Now(), some); err != nil {
				t.Fatal(err)
			}
		}
		if own := c.core.own; len(own) != 1 || own[0].kind != checkCount || own[0].task != 0 {
			t.Errorf("%d results at once: the coordinator counts %+v", batch, own)
		}
	}
}

// A coordinator that was killed after a dispute was settled and before the key of the wrong vote was
// quarantined leaves that to the next one: until then the sum is not compared with the published total.
func TestSettledDisputesAreJudgedAgain(t *testing.T) {
	vote := func(worker, key string, task, count uint64) run.Result {
		return run.Result{Task: task, Count: count, Attempt: 1, Worker: worker, Kernel: "k", Key: key, Admitted: key != ""}
	}
	c, err := resumeWith(t, 0, 1000,
		vote("w", "liar", 0, 1<<40), vote("w", "liar", 1, 1<<40), vote("v", "honest", 2, 3), vote(run.Referee, "", 0, 5))
	if err != nil {
		t.Fatal(err)
	}
	for c.ledger.IsRevoking() {
		if _, err := c.core.advance(time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if keys := c.core.quarantinedKeys(); !slices.Equal(keys, []string{"liar"}) || c.ledger.Has(1) || !c.ledger.Has(2) {
		t.Errorf("quarantined are %v; task 1 has a result: %v", keys, c.ledger.Has(1))
	}
}

// Keys that were wrong in a dispute of their own stay quarantined without a look at all other disputes: one owner can
// make any number of both.
func TestAcquittalLooksAtFewDisputes(t *testing.T) {
	c, _ := newTestCoordinator(t, 8, 2, queens.Mirror)
	now, tasks := time.Now(), int(c.core.manifest.Tasks)
	deliver := func(key string, first, tasks int, count uint64) {
		r := c.core.resultOfAll(key, count)
		r.First, r.Counts, r.Sealed = uint64(first), r.Counts[first:first+tasks], &run.Sealed{Key: key, Statement: []byte{1}, Signature: []byte{1}}
		if err := c.core.deliver(now, []delivery{{result: r}}); err != nil {
			t.Fatal(err)
		}
	}
	deliver("a", 0, tasks, 1)
	for task := range tasks {
		deliver(fmt.Sprint("liar", task), task, 1, 2)
		if err := c.core.recordOwn(now, uint64(task), run.Referee, run.TaskCount{Count: 1, Kernel: "k"}); err != nil {
			t.Fatal(err)
		}
	}
	keys := len(c.core.quarantinedKeys())
	if allocated := testing.AllocsPerRun(10, func() { c.core.acquit(now) }); keys != tasks || allocated >= float64(keys) {
		t.Errorf("of %d tasks %d keys are quarantined; a look allocates memory %v times", tasks, keys, allocated)
	}
}

// The loss of a worker whose key is quarantined says nothing of the task that it searched: nothing of the key is
// accepted any more.
func TestLossOfAQuarantinedKeyDoesNotCount(t *testing.T) {
	for _, quarantined := range []bool{false, true} {
		c, _ := newTestCoordinator(t, 8, 2, queens.Mirror)
		now, chunk := time.Now(), c.core.publishChunk(t)
		for i, key := range []string{"x", "y", "z"} {
			r := c.core.resultOfAll(key, 1)
			r.First, r.Counts = uint64(1+i), r.Counts[1+i:2+i]
			r.Sealed = &run.Sealed{Key: key, Statement: []byte{1}, Signature: []byte{1}}
			if err := c.core.deliver(now, []delivery{{result: r}}); err != nil {
				t.Fatal(err)
			}
			if quarantined {
				if err := c.core.quarantine(now, &run.Result{Key: key, Worker: key}, 1); err != nil {
					t.Fatal(err)
				}
			}
			h := heartbeat(key, 1, chunk.Chunk)
			h.Key = key
			c.core.handleLost(now, &h)
		}
		if dead := len(c.core.flight.DeadLettered()); (dead == 0) != quarantined {
			t.Errorf("quarantined: %v, %d tasks are dead-lettered", quarantined, dead)
		}
	}
}
