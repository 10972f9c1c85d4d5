package coordinator

import (
	"errors"
	"math/big"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// books7 returns the manifest of a count of n = 7, by mirror, and the results of its
// tasks, counted by the plain search.
func books7(t *testing.T) (queens.Manifest, []queens.Result) {
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

func enter(t *testing.T, results []queens.Result) *ledger.Ledger {
	t.Helper()
	l := ledger.New()
	if _, err := l.Accept(results); err != nil {
		t.Fatal(err)
	}
	return l
}

// Both routes, each by itself, come to the known total from an honest ledger.
func TestBothRoutesComeToTheTotal(t *testing.T) {
	m, results := books7(t)
	known, _ := queens.KnownTotal(7)
	for name, route := range map[string]func(*queens.Manifest, *ledger.Ledger) (*big.Int, error){
		"by ledger": totalByLedger,
		"by split": func(m *queens.Manifest, l *ledger.Ledger) (*big.Int, error) {
			return totalBySplit(t.Context(), m, l)
		},
	} {
		if got, err := route(&m, enter(t, results)); err != nil || got.Cmp(known) != 0 {
			t.Errorf("%s: %v (error %v), want %d", name, got, err, known)
		}
	}
}

// Whatever is wrong with ledger or manifest, there is no total, and the error says
// whether something is missing or something contradicts.
func TestNoTotalFromDoctoredBooks(t *testing.T) {
	for _, test := range []struct {
		name   string
		doctor func(m *queens.Manifest, results []queens.Result) []queens.Result
		want   error
	}{
		{"a hole", func(_ *queens.Manifest, r []queens.Result) []queens.Result { return append(r[:1], r[2:]...) }, queens.ErrIncomplete},
		{"the last missing", func(_ *queens.Manifest, r []queens.Result) []queens.Result { return r[:len(r)-1] }, queens.ErrIncomplete},
		{"a task too many", func(_ *queens.Manifest, r []queens.Result) []queens.Result {
			more := r[0]
			more.Task = uint64(len(r))
			return append(r, more)
		}, queens.ErrIncomplete},
		{"a result of another task", func(_ *queens.Manifest, r []queens.Result) []queens.Result { r[1].Hash++; return r }, queens.ErrContradiction},
		{"another manifest", func(m *queens.Manifest, r []queens.Result) []queens.Result { m.Hash[0]++; return r }, queens.ErrContradiction},
		{"a wrong count", func(_ *queens.Manifest, r []queens.Result) []queens.Result { r[1].Count++; return r }, queens.ErrContradiction},
		{"routes that disagree", func(m *queens.Manifest, r []queens.Result) []queens.Result {
			m.Classes[1].First-- // the last task of a class is taken for one of the next
			m.Classes[1].K = 2
			return r
		}, queens.ErrContradiction},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, results := books7(t)
			known, _ := queens.KnownTotal(7)
			l := enter(t, test.doctor(&m, results))
			if test.name == "routes that disagree" {
				known = nil // they must be enough
			}
			if got, err := total(t.Context(), &m, l, known); got != nil || !errors.Is(err, test.want) {
				t.Errorf("total %v, error %v, want none and %v", got, err, test.want)
			}
		})
	}
}

// Each route has an error of its own for what it alone sees.
func TestEachRouteSeesForItself(t *testing.T) {
	m, results := books7(t)
	results[1].Hash++
	if _, err := totalByLedger(&m, enter(t, results)); err != nil {
		t.Errorf("by ledger: %v", err)
	}
	if _, err := totalBySplit(t.Context(), &m, enter(t, results)); !errors.Is(err, queens.ErrContradiction) {
		t.Errorf("by split: error %v, want %v", err, queens.ErrContradiction)
	}
	m, results = books7(t)
	if _, err := totalBySplit(t.Context(), &m, enter(t, results[:2])); !errors.Is(err, queens.ErrIncomplete) {
		t.Errorf("by split, of two results: error %v, want %v", err, queens.ErrIncomplete)
	}
}
