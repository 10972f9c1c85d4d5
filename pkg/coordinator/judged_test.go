package coordinator

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"testing/synctest"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// A coordinator that was killed before the first chunk of a new key was checked leaves that to the next one,
// also if its count exceeds the published total. Without spot checks nobody would check it.
func TestLeftChecksAreMadeBeforeTheSumIsCompared(t *testing.T) {
	for _, share := range []float64{0, 0.01} {
		t.Run(fmt.Sprint("share ", share), func(t *testing.T) {
			rng := testkit.Rand(t)
			synctest.Test(t, func(t *testing.T) {
				s := &simulation{t: t, rng: rng, folder: t.TempDir(), board: 8, trust: ledger.Trust{Redundancy: 1, SpotCheck: share}}
				s.create()
				r := queens.Result{Task: 0, Count: 1 << 40, Attempt: 1, Worker: "w", Kernel: "k", Key: "liar", Admitted: true, Report: 1}
				r.Sealed = &queens.Sealed{Key: r.Key, Statement: []byte{1}, Signature: []byte{1}}
				_, err := s.c.ledger.Accept([]queens.Result{r}, nil, run.StreamPosition{})
				s.must(err)
				s.stop()
				l, err := ledger.Open(t.Context(), s.folder)
				s.must(err)
				s.c = New(s.c.cfg, nil, nil, nil, nil, l)
				s.c.cfg.Known = big.NewInt(1000)
				err = s.c.load(t.Context())
				if checked := s.c.window.checks == 1; checked != (share > 0) || checked == errors.Is(err, queens.ErrContradiction) {
					t.Errorf("%d tasks are to be checked, error %v", s.c.window.checks, err)
				}
				s.stop()
			})
		})
	}
}

// A coordinator that was killed after a dispute was settled and before the key of the wrong vote was
// quarantined leaves that to the next one: until then the sum is not compared with the published total.
func TestSettledDisputesAreJudgedAgain(t *testing.T) {
	rng := testkit.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{t: t, rng: rng, folder: t.TempDir(), board: 8}
		s.create()
		vote := func(worker, key string, task, count uint64) queens.Result {
			return queens.Result{Task: task, Count: count, Attempt: 1, Worker: worker, Kernel: "k", Key: key, Admitted: key != ""}
		}
		_, err := s.c.ledger.Accept([]queens.Result{
			vote("w", "liar", 0, 1<<40), vote("w", "liar", 1, 1<<40), vote("v", "honest", 2, 3),
			vote(queens.Referee, "", 0, 5),
		}, nil, run.StreamPosition{})
		s.must(err)
		s.stop()
		l, err := ledger.Open(t.Context(), s.folder)
		s.must(err)
		s.c = New(s.c.cfg, nil, nil, nil, nil, l)
		s.c.cfg.Known = big.NewInt(1000)
		s.must(s.c.load(t.Context()))
		s.must(s.c.quarantineJudged())
		for s.c.ledger.IsVoiding() {
			s.must(s.c.void())
		}
		if keys := s.c.quarantinedKeys(); !slices.Equal(keys, []string{"liar"}) || l.Has(1) || !l.Has(2) {
			t.Errorf("quarantined are %v; task 1 has a result: %v", keys, l.Has(1))
		}
		s.stop()
	})
}
