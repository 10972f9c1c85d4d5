package audit

import (
	"errors"
	"math/big"
	"path/filepath"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// run7 returns the manifest of a count of n = 7 with symmetry mirror, and the results of its
// tasks, counted by the plain search.
func run7(t *testing.T) (queens.Manifest, []run.Result) {
	t.Helper()
	const n = 7
	classes, err := symmetry.Classes(n, queens.Mirror)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), n, queens.Mirror, classes, 1)
	if err != nil {
		t.Fatal(err)
	}
	var results []run.Result
	for task := range split.Tasks(&m) {
		var column int
		for column = range n {
			if task.Prefixes[0].Cols == 1<<column {
				break
			}
		}
		count := oracle.Count(n, func(row, column int) bool { return task.Board.Allow[row]>>column&1 == 1 }, []int{column})
		results = append(results, run.Result{Run: "r", Task: task.ID, Hash: task.Hash(), Attempt: 1, Count: count, Worker: "w", Kernel: "k"})
	}
	return m, results
}

// newLedger creates a ledger that has accepted the results, which one worker has signed.
func newLedger(t *testing.T, m queens.Manifest, results []run.Result) *ledger.Ledger {
	t.Helper()
	return newLedgerOf(t, m, 1, results)
}

// newLedgerOf is newLedger for a run in which so many keys must agree.
func newLedgerOf(t *testing.T, m queens.Manifest, redundancy int, results []run.Result) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Create(filepath.Join(t.TempDir(), "r"), ledger.Header{Run: "r", Created: time.Now(), Manifest: m, Trust: ledger.Trust{Redundancy: redundancy}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if _, err := l.Accept(sign(t, &m, newIdentity(t), results), 0, run.StreamPosition{}); err != nil {
		t.Fatal(err)
	}
	return l
}

// Each of the routes computes the known total from a correct ledger.
func TestBothRoutesReachTheTotal(t *testing.T) {
	m, results := run7(t)
	known, _ := queens.KnownTotal(7)
	for name, route := range map[string]func(*queens.Manifest, *ledger.Ledger) (*big.Int, error){
		"by task": func(m *queens.Manifest, l *ledger.Ledger) (*big.Int, error) {
			return byTask(t.Context(), m, l)
		},
		"by class": func(m *queens.Manifest, l *ledger.Ledger) (*big.Int, error) {
			return byClass(t.Context(), m, l)
		},
	} {
		if got, err := route(&m, newLedger(t, m, results)); err != nil || got.Cmp(known) != 0 {
			t.Errorf("%s: %v (error %v), want %d", name, got, err, known)
		}
	}
}

// Whatever is wrong with ledger or manifest, there is no total, and the error tells whether
// something is missing or something contradicts.
func TestNoTotalFromAManipulatedLedger(t *testing.T) {
	for _, test := range []struct {
		name   string
		doctor func(m *queens.Manifest, results []run.Result) []run.Result
		want   error
	}{
		{"a hole", func(_ *queens.Manifest, r []run.Result) []run.Result { return append(r[:1], r[2:]...) }, run.ErrIncomplete},
		{"the last missing", func(_ *queens.Manifest, r []run.Result) []run.Result { return r[:len(r)-1] }, run.ErrIncomplete},
		{"nothing", func(*queens.Manifest, []run.Result) []run.Result { return nil }, run.ErrIncomplete},
		{"a contradiction", func(_ *queens.Manifest, r []run.Result) []run.Result {
			other := r[0]
			other.Count, other.Worker = other.Count+1, "x"
			return append(r, other)
		}, run.ErrIncomplete},
		{"a class of another board", func(m *queens.Manifest, r []run.Result) []run.Result {
			m.Classes[1].Board.Allow[3] &^= 1
			return r
		}, run.ErrContradiction},
		{"a class of another weight", func(m *queens.Manifest, r []run.Result) []run.Result { m.Classes[1].Weight = 4; return r }, run.ErrContradiction},
		{"another symmetry", func(m *queens.Manifest, r []run.Result) []run.Result { m.Symmetry = queens.Full; return r }, run.ErrContradiction},
		{"a result of another task", func(_ *queens.Manifest, r []run.Result) []run.Result { r[1].Hash++; return r }, run.ErrContradiction},
		{"another manifest", func(m *queens.Manifest, r []run.Result) []run.Result { m.Hash[0]++; return r }, run.ErrContradiction},
		{"a wrong count", func(_ *queens.Manifest, r []run.Result) []run.Result { r[1].Count++; return r }, run.ErrContradiction},
		{"routes that disagree", func(m *queens.Manifest, r []run.Result) []run.Result {
			m.Classes[1].First-- // the last task of class 0 seems one of class 1
			return r
		}, run.ErrContradiction},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, results := run7(t)
			known, _ := queens.KnownTotal(7)
			results = test.doctor(&m, results)
			if test.name == "routes that disagree" {
				known = nil // the routes alone must detect it
			}
			if got, err := Total(t.Context(), newLedger(t, m, results), known); got != nil || !errors.Is(err, test.want) {
				t.Errorf("total %v, error %v, want none and %v", got, err, test.want)
			}
		})
	}
}

// Each route detects what the other can't.
func TestEachRouteDetectsItsOwnErrors(t *testing.T) {
	m, results := run7(t)
	results[1].Hash++
	if _, err := byTask(t.Context(), &m, newLedger(t, m, results)); err != nil {
		t.Errorf("by task: %v", err)
	}
	if _, err := byClass(t.Context(), &m, newLedger(t, m, results)); !errors.Is(err, run.ErrContradiction) {
		t.Errorf("by class: error %v, want %v", err, run.ErrContradiction)
	}
	m, results = run7(t)
	if _, err := byClass(t.Context(), &m, newLedger(t, m, results[:2])); !errors.Is(err, run.ErrIncomplete) {
		t.Errorf("by class, of two results: error %v, want %v", err, run.ErrIncomplete)
	}
}
