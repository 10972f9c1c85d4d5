package ledger_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

const (
	accepted  = ledger.Accepted
	duplicate = ledger.Duplicate
	conflict  = ledger.Conflict
)

// result is one of attempt a, told from others by its worker.
func result(task, count uint64, attempt uint32) queens.Result {
	return queens.Result{
		Run: "n8-20261120-153012-ab12", Task: task, Hash: task * 31, Attempt: attempt, Count: count,
		Worker: fmt.Sprintf("worker-%d", attempt), Kernel: "generic", Elapsed: 1,
	}
}

// The first result of a task is accepted and stays; the same count again is a
// duplicate and leaves no trace; another count is a conflict, kept with the accepted
// one. So it is from batch to batch and within one.
func TestAccept(t *testing.T) {
	type batch struct {
		results []queens.Result
		want    []ledger.Verdict
	}
	first, again, other := result(5, 10, 1), result(5, 10, 2), result(5, 11, 3)
	third, low, high := result(5, 0, 4), result(0, 0, 5), result(math.MaxUint64, math.MaxUint64, 6)
	for _, c := range []struct {
		name     string
		batches  []batch
		accepted []queens.Result
		disputes []ledger.Dispute
	}{
		{name: "nothing"},
		{name: "empty batches", batches: []batch{{}, {results: []queens.Result{}}}},
		{
			name:     "one",
			batches:  []batch{{[]queens.Result{first}, []ledger.Verdict{accepted}}},
			accepted: []queens.Result{first},
		},
		{
			name: "order of arrival is not order of task",
			batches: []batch{
				{[]queens.Result{high, first}, []ledger.Verdict{accepted, accepted}},
				{[]queens.Result{low}, []ledger.Verdict{accepted}},
			},
			accepted: []queens.Result{low, first, high},
		},
		{
			name: "a duplicate in a later batch",
			batches: []batch{
				{[]queens.Result{first}, []ledger.Verdict{accepted}},
				{[]queens.Result{again, first}, []ledger.Verdict{duplicate, duplicate}},
			},
			accepted: []queens.Result{first},
		},
		{
			name:     "a duplicate within a batch",
			batches:  []batch{{[]queens.Result{again, low, first}, []ledger.Verdict{accepted, accepted, duplicate}}},
			accepted: []queens.Result{low, again},
		},
		{
			name: "a conflict in a later batch",
			batches: []batch{
				{[]queens.Result{first}, []ledger.Verdict{accepted}},
				{[]queens.Result{other}, []ledger.Verdict{conflict}},
			},
			accepted: []queens.Result{first},
			disputes: []ledger.Dispute{{Accepted: first, Other: other}},
		},
		{
			name: "conflicts within a batch, and what comes after them",
			batches: []batch{
				{[]queens.Result{first, other, third, again}, []ledger.Verdict{accepted, conflict, conflict, duplicate}},
				{[]queens.Result{first, high}, []ledger.Verdict{duplicate, accepted}},
			},
			accepted: []queens.Result{first, high},
			disputes: []ledger.Dispute{{Accepted: first, Other: other}, {Accepted: first, Other: third}},
		},
		{
			name: "what came first is accepted, not what came more often",
			batches: []batch{
				{[]queens.Result{other}, []ledger.Verdict{accepted}},
				{[]queens.Result{first, again}, []ledger.Verdict{conflict, conflict}},
			},
			accepted: []queens.Result{other},
			disputes: []ledger.Dispute{{Accepted: other, Other: first}, {Accepted: other, Other: again}},
		},
		{
			name: "a count of zero is a count",
			batches: []batch{
				{[]queens.Result{third}, []ledger.Verdict{accepted}},
				{[]queens.Result{third, first}, []ledger.Verdict{duplicate, conflict}},
			},
			accepted: []queens.Result{third},
			disputes: []ledger.Dispute{{Accepted: third, Other: first}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ledger.New()
			for i, b := range c.batches {
				if got, err := l.Accept(b.results); err != nil || !slices.Equal(got, b.want) {
					t.Errorf("batch %d: verdicts %v (error %v), want %v", i, got, err, b.want)
				}
			}
			compare(t, l, c.accepted, c.disputes)
		})
	}
}

// Through any sequence of batches, the ledger says what a plain list says.
func TestAgainstAModel(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		l := ledger.New()
		var list []queens.Result
		var disputes []ledger.Dispute
		for range rng.IntN(12) {
			batch := make([]queens.Result, rng.IntN(8))
			want := make([]ledger.Verdict, len(batch))
			for i := range batch {
				r := result(rng.Uint64N(20), rng.Uint64N(3), rng.Uint32N(1000))
				batch[i] = r
				known := slices.IndexFunc(list, func(known queens.Result) bool { return known.Task == r.Task })
				switch {
				case known < 0:
					list = append(list, r)
				case list[known].Count == r.Count:
					want[i] = duplicate
				default:
					want[i] = conflict
					disputes = append(disputes, ledger.Dispute{Accepted: list[known], Other: r})
				}
			}
			if got, err := l.Accept(batch); err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d: verdicts %v (error %v), want %v", seed, got, err, want)
			}
			clear(batch) // The ledger keeps results, not the batch.
			slices.SortFunc(list, func(a, b queens.Result) int { return cmp.Compare(a.Task, b.Task) })
			compare(t, l, list, disputes)
		}
	}
}

// A consumer of the results may stop after any of them.
func TestAllStops(t *testing.T) {
	l := ledger.New()
	for task := range uint64(5) {
		if _, err := l.Accept([]queens.Result{result(task, 1, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	for limit := 1; limit <= 5; limit++ {
		got := 0
		l.All()(func(queens.Result) bool {
			got++
			return got < limit
		})
		if got != limit {
			t.Errorf("stopped after %d, got %d", limit, got)
		}
	}
}

// compare holds a ledger to what it should have accepted, in order of task, and to
// the disputes.
func compare(t *testing.T, l *ledger.Ledger, accepted []queens.Result, disputes []ledger.Dispute) {
	t.Helper()
	if got := slices.Collect(l.All()); !slices.Equal(got, accepted) {
		t.Errorf("accepted are %v, want %v", got, accepted)
	}
	if l.Len() != uint64(len(accepted)) {
		t.Errorf("%d are accepted, want %d", l.Len(), len(accepted))
	}
	for _, want := range accepted {
		if got, ok := l.Result(want.Task); !ok || got != want {
			t.Errorf("task %d has %v (%v), want %v", want.Task, got, ok, want)
		}
	}
	for _, task := range []uint64{0, 1, 5, 19, 20, math.MaxUint64} {
		want := slices.ContainsFunc(accepted, func(r queens.Result) bool { return r.Task == task })
		if got, ok := l.Result(task); ok != want || !ok && got != (queens.Result{}) {
			t.Errorf("task %d has a result: %v, want %v", task, ok, want)
		}
	}
	if got := l.Disputes(); !slices.Equal(got, disputes) {
		t.Errorf("disputes are %v, want %v", got, disputes)
	}
}
