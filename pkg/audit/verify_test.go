package audit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Verify confirms a correct ledger. If a ledger has no total, Verify reports that first and
// still names the task that was counted wrong.
func TestVerify(t *testing.T) {
	m, results := run7(t)
	sample := Sample{Share: 1, Kernel: new(reference(t)), Threads: 2}
	v, err := Verify(t.Context(), newLedger(t, m, results), sample, func(err error) { t.Errorf("no total: %v", err) })
	if err != nil || v.Err != nil || !v.Verified || v.Total.String() != "40" || v.Recounted != m.Tasks || v.Whole != string(queens.Full) || v.Known != queens.Match {
		t.Errorf("found %+v, error %v", v, err)
	}
	wrong := slices.Clone(results)
	wrong[2].Count++
	for name, c := range map[string]struct {
		results []run.Result
		want    error
		is      queens.Comparison
	}{
		"wrong and complete":   {wrong, run.ErrContradiction, queens.Mismatch},
		"wrong and incomplete": {wrong[:3], run.ErrIncomplete, queens.Unpublished},
	} {
		l := newLedger(t, m, c.results)
		var noTotal error
		v, err := Verify(t.Context(), l, sample, func(err error) { noTotal = err })
		if err != nil || v.Verified || v.Total != nil || !errors.Is(noTotal, c.want) || !errors.Is(v.Err, c.want) || !strings.Contains(v.Err.Error(), "task 2 was counted") {
			t.Errorf("%s: found %+v, error %v, and before that %v", name, v, err, noTotal)
		}
		if v.Known != c.is {
			t.Errorf("%s: the comparison is %q, want %q", name, v.Known, c.is)
		}
	}
}

// A contradiction stays the error of a command that a signal ends: its exit code tells.
func TestASignalHidesNoContradiction(t *testing.T) {
	m, results := run7(t)
	results[2].Count++
	ctx, stop := context.WithCancelCause(t.Context())
	signal := errors.New("a signal")
	sample := Sample{Share: 1, Kernel: new(reference(t)), Threads: 2}
	v, err := Verify(ctx, newLedger(t, m, results), sample, func(error) { stop(signal) })
	if err != nil || !errors.Is(v.Err, run.ErrContradiction) || errors.Is(v.Err, signal) || !v.Stopped || v.Total != nil {
		t.Errorf("found %+v with the error %v, error %v", v, v.Err, err)
	}
}

// A run that ended contradicted stays so, with tasks missing and with counts that add up: what contradicted them is not
// always in the ledger.
func TestFinalTotalOfAContradictedRun(t *testing.T) {
	m, results := run7(t)
	l := newLedger(t, m, results[:3])
	if err := l.SetState(run.Contradicted); err != nil {
		t.Fatal(err)
	}
	total, err := FinalTotal(t.Context(), l)
	var early *EarlyContradictionError
	if total != nil || !errors.As(err, &early) || early.Done != 3 || !errors.Is(err, run.ErrContradiction) || errors.Is(err, run.ErrIncomplete) {
		t.Errorf("total %v, error %v", total, err)
	}
	l = newLedger(t, m, results)
	if total, err := FinalTotal(t.Context(), l); total == nil || err != nil {
		t.Fatalf("the total is %v, error %v", total, err)
	}
	if err := l.SetState(run.Contradicted); err != nil {
		t.Fatal(err)
	}
	if total, err := FinalTotal(t.Context(), l); total != nil || !errors.Is(err, run.ErrContradiction) || errors.As(err, &early) {
		t.Errorf("with all tasks counted: total %v, error %v", total, err)
	}
}
