package core

import (
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// A task that a worker has counted by halves is recounted by another algorithm: by each depth-first
// kernel in turn, the fastest first, also by the one with the instructions of the worker's kernel.
func TestRecountsOfHalves(t *testing.T) {
	h := &ledger.Header{Format: ledger.Format, Run: "r", Redundancy: 2,
		Manifest: halvesManifest(20, 4)}
	state := ledger.NewState(h)
	for machine, count := range map[string]uint64{"a": 7, "b": 8} {
		r := &ledger.Result{
			Machine: testkit.Machine(machine), Process: machine, Kernel: "halves:avx2",
			Range:  queens.Range{First: 2, Tasks: 1},
			Counts: []uint64{count}, Searched: time.Second, At: time.Unix(1e9, 0),
		}
		if _, err := state.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	j := newJudge(state, "home", []string{"avx2", generic})
	for _, want := range []string{"avx2", "generic", "generic one row deeper"} {
		way := j.way(2, ledger.Disputed)
		if way == nil || way.way() != want {
			t.Fatalf("the way is %+v, want %s", way, want)
		}
		j.died = append(j.died, *way)
	}
	if way := j.way(2, ledger.Disputed); way != nil {
		t.Errorf("a fourth way is %+v", way)
	}
}
