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
func run7(t *testing.T) (queens.Manifest, []queens.Result) {
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
	var results []queens.Result
	for task := range split.Tasks(&m) {
		var column int
		for column = range n {
			if task.Prefixes[0].Cols == 1<<column {
				break
			}
		}
		count := oracle.Count(n, func(row, column int) bool { return task.Board.Allow[row]>>column&1 == 1 }, []int{column})
		results = append(results, queens.Result{Run: "r", Task: task.ID, Hash: task.Hash(), Attempt: 1, Count: count, Worker: "w", Kernel: "k"})
	}
	return m, results
}

// newLedger creates a ledger that has accepted the results, which one worker has signed.
func newLedger(t *testing.T, m queens.Manifest, results []queens.Result) *ledger.Ledger {
	t.Helper()
	return newLedgerOf(t, m, 1, results)
}

// newLedgerOf is newLedger for a run in which so many keys must agree.
func newLedgerOf(t *testing.T, m queens.Manifest, redundancy int, results []queens.Result) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Create(filepath.Join(t.TempDir(), "r"), ledger.Header{Run: "r", Created: time.Now(), Manifest: m, Trust: ledger.Trust{Redundancy: redundancy}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if _, err := l.Accept(sign(t, &m, newIdentity(t), results), nil, run.StreamPosition{}); err != nil {
		t.Fatal(err)
	}
	return l
}

// An old ledger counts, even with worker names that are rejected today.
func TestNamesOfOldLedgers(t *testing.T) {
	m, results := run7(t)
	for i := range results {
		results[i].Worker, results[i].Kernel = "a\x1b[2J", "\u202ek"
	}
	if err := results[0].Validate(); err == nil {
		t.Error("such names are valid today")
	}
	total, err := Total(t.Context(), newLedger(t, m, results), big.NewInt(40))
	if err != nil || total.Cmp(big.NewInt(40)) != 0 {
		t.Errorf("the total is %v (error %v)", total, err)
	}
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
		doctor func(m *queens.Manifest, results []queens.Result) []queens.Result
		want   error
	}{
		{"a hole", func(_ *queens.Manifest, r []queens.Result) []queens.Result { return append(r[:1], r[2:]...) }, queens.ErrIncomplete},
		{"the last missing", func(_ *queens.Manifest, r []queens.Result) []queens.Result { return r[:len(r)-1] }, queens.ErrIncomplete},
		{"nothing", func(*queens.Manifest, []queens.Result) []queens.Result { return nil }, queens.ErrIncomplete},
		{"a contradiction", func(_ *queens.Manifest, r []queens.Result) []queens.Result {
			other := r[0]
			other.Count, other.Worker = other.Count+1, "x"
			return append(r, other)
		}, queens.ErrIncomplete},
		{"a class of another board", func(m *queens.Manifest, r []queens.Result) []queens.Result {
			m.Classes[1].Board.Allow[3] &^= 1
			return r
		}, queens.ErrContradiction},
		{"a class of another weight", func(m *queens.Manifest, r []queens.Result) []queens.Result { m.Classes[1].K = 2; return r }, queens.ErrContradiction},
		{"another symmetry", func(m *queens.Manifest, r []queens.Result) []queens.Result { m.Symmetry = queens.Full; return r }, queens.ErrContradiction},
		{"a result of another task", func(_ *queens.Manifest, r []queens.Result) []queens.Result { r[1].Hash++; return r }, queens.ErrContradiction},
		{"another manifest", func(m *queens.Manifest, r []queens.Result) []queens.Result { m.Hash[0]++; return r }, queens.ErrContradiction},
		{"a wrong count", func(_ *queens.Manifest, r []queens.Result) []queens.Result { r[1].Count++; return r }, queens.ErrContradiction},
		{"routes that disagree", func(m *queens.Manifest, r []queens.Result) []queens.Result {
			m.Classes[1].First-- // the last task of class 0 seems one of class 1
			return r
		}, queens.ErrContradiction},
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
	if _, err := byClass(t.Context(), &m, newLedger(t, m, results)); !errors.Is(err, queens.ErrContradiction) {
		t.Errorf("by class: error %v, want %v", err, queens.ErrContradiction)
	}
	m, results = run7(t)
	if _, err := byClass(t.Context(), &m, newLedger(t, m, results[:2])); !errors.Is(err, queens.ErrIncomplete) {
		t.Errorf("by class, of two results: error %v, want %v", err, queens.ErrIncomplete)
	}
}
