package audit

import (
	"errors"
	"math/big"
	"slices"
	"sync/atomic"
	"testing"

	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// runPlaced8 returns the manifest of a count of n = 8 with two placed queens, and the
// results of its tasks by the reference kernel. Their sum is 5.
func runPlaced8(t *testing.T) (queens.Manifest, []run.Result) {
	t.Helper()
	placed := []queens.Square{{Row: 0, Column: 3}, {Row: 3, Column: 7}}
	classes, err := symmetry.Classes(8, queens.None, placed...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 8, queens.None, classes, 3)
	if err != nil {
		t.Fatal(err)
	}
	m.Placed = placed
	return m, countTasks(t, &m)
}

func countTasks(t *testing.T, m *queens.Manifest) []run.Result {
	t.Helper()
	var results []run.Result
	counter := kerneltest.NewCounter(t, reference(t))
	for task := range split.Tasks(m) {
		count, err := counter.Count(t.Context(), &task.Board, task.Prefixes, new(atomic.Uint64))
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, run.Result{Run: "r", Task: task.ID, Hash: task.Hash(), Attempt: 1, Count: count, Worker: "w", Kernel: "k"})
	}
	return results
}

// The total of a board with placed queens is that of the plain search. A recount with the
// queens mirrored agrees with it and with no other.
func TestPlaced(t *testing.T) {
	m, results := runPlaced8(t)
	want := new(big.Int)
	for solution := range oracle.Boards(8) {
		if solution[0] == 3 && solution[3] == 7 {
			want.Add(want, big.NewInt(1))
		}
	}
	total, err := Total(t.Context(), newLedger(t, m, results), nil)
	if err != nil || total.Cmp(want) != 0 {
		t.Fatalf("total %v (error %v), want %v", total, err, want)
	}
	if by, err := RecountAll(t.Context(), &m, total, reference(t), 2); by != MirrorImage || err != nil {
		t.Errorf("counted again by %q, error %v", by, err)
	}
	wrong := new(big.Int).Add(total, big.NewInt(1))
	if by, err := RecountAll(t.Context(), &m, wrong, reference(t), 2); by != MirrorImage || !errors.Is(err, run.ErrContradiction) {
		t.Errorf("a wrong total counted again by %q, error %v, want %v", by, err, run.ErrContradiction)
	}
}

// Classes that are not those of the placed queens are a contradiction: with other queens in
// the manifest, without any, with another weight, or with a symmetry.
func TestPlacedClasses(t *testing.T) {
	for name, doctor := range map[string]func(m *queens.Manifest){
		"other queens": func(m *queens.Manifest) { m.Placed = []queens.Square{{Row: 0, Column: 4}, {Row: 3, Column: 0}} },
		"fewer queens": func(m *queens.Manifest) { m.Placed = m.Placed[:1] },
		"no queens":    func(m *queens.Manifest) { m.Placed = nil },
		"more weight":  func(m *queens.Manifest) { m.Classes[0].Weight = 4 },
	} {
		m, _ := runPlaced8(t)
		m.Placed, m.Classes = slices.Clone(m.Placed), slices.Clone(m.Classes)
		doctor(&m)
		if err := CheckClasses(&m); !errors.Is(err, run.ErrContradiction) {
			t.Errorf("%s: error %v, want %v", name, err, run.ErrContradiction)
		}
	}
	m, _ := runPlaced8(t)
	m.Symmetry = queens.Full
	if err := CheckClasses(&m); err == nil {
		t.Error("placed queens and symmetry full are accepted")
	}
	if m.Symmetry = queens.None; CheckClasses(&m) != nil {
		t.Errorf("the true classes: %v", CheckClasses(&m))
	}
}
