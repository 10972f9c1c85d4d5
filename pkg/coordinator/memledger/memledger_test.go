package memledger

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/testkit"
)

// The model says the same of random results as the ledger does.
func TestModelFollowsTheLedger(t *testing.T) {
	rng := testkit.Rand(t)
	classes, err := symmetry.Classes(6, queens.None)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 6, queens.None, classes, 1)
	if err != nil {
		t.Fatal(err)
	}
	const tasks = 3
	for life := range 12 {
		redundancy := 1 + life/4
		header := ledger.Header{Run: "r", Created: time.Now(), Manifest: m, Trust: ledger.Trust{Redundancy: redundancy}}
		stored, err := ledger.Create(t.TempDir(), header)
		if err != nil {
			t.Fatal(err)
		}
		model := New(int(m.Tasks), redundancy)
		for step := range 40 {
			r := run.Result{Run: "r", Attempt: 1, Task: rng.Uint64N(tasks), Count: rng.Uint64N(1 + uint64(life)%4), Kernel: "k"}
			switch rng.IntN(16) {
			case 0:
				r.Worker = run.Referee
			case 1:
				r.Worker = run.Checker
			case 2:
				key := fmt.Sprint("key", rng.IntN(6))
				model.Quarantine(key)
				if err := stored.Quarantine(run.QuarantinedKey{Key: key}); err != nil {
					t.Fatal(err)
				}
				continue
			default:
				r.Key = fmt.Sprint("key", rng.IntN(6))
				r.Worker, r.Admitted = r.Key, rng.IntN(4) > 0 || redundancy > 1
			}
			for model.IsRevoking() && rng.IntN(2) == 0 {
				model.Revoke()
				if _, _, err := stored.Revoke(); err != nil {
					t.Fatal(err)
				}
			}
			got := model.Accept(&r)
			verdicts, err := stored.Accept([]run.Result{r}, 0, run.StreamPosition{})
			if err != nil {
				t.Fatal(err)
			}
			v := verdicts[0]
			want := [...]bool{v == ledger.Accepted, v != ledger.Duplicate && v != ledger.Refused, v == ledger.Conflict || v == ledger.Settled}
			if [...]bool{got.First, got.Gained, got.Conflict} != want || model.IsRevoking() != stored.IsRevoking() {
				t.Fatalf("life %d, step %d: %+v gives %+v, the ledger says %d", life, step, r, got, v)
			}
			for id := range uint64(tasks) {
				compare(t, model, stored, id)
			}
		}
		if err := stored.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func compare(t *testing.T, model *Ledger, stored *ledger.Ledger, id uint64) {
	t.Helper()
	if got, want := model.Standing(id), stored.Standing(id); got != want {
		t.Fatalf("task %d stands at %+v, want %+v; the model is\n%s", id, got, want, model)
	}
	supporters, err := stored.Supporters(id)
	if err != nil {
		t.Fatal(err)
	}
	if got := model.Supporters(id); !reflect.DeepEqual(names(got), names(supporters)) {
		t.Fatalf("task %d is supported by %v, want %v", id, names(got), names(supporters))
	}
	d, got := stored.Dispute(id), model.Dispute(id)
	switch {
	case (d != nil) != (got != nil):
		t.Fatalf("task %d: in dispute: %v, want %v", id, got != nil, d != nil)
	case d == nil:
		return
	}
	same := got.Accepted == d.Accepted && got.Settled == d.Settled && got.Full == d.Full && got.Quorum == d.Quorum
	if !same || !reflect.DeepEqual(names(got.Votes), names(d.Votes)) || !reflect.DeepEqual(names(got.Revoked), names(d.Revoked)) {
		t.Fatalf("task %d: the dispute is %+v, want %+v", id, got, d)
	}
}

// names lists results, sorted: the ledger reuses the numbers of void results.
func names(results []run.Result) (all []string) {
	for _, r := range results {
		all = append(all, fmt.Sprint(r.Voter(), "=", r.Count))
	}
	slices.Sort(all)
	return all
}
