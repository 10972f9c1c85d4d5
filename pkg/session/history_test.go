package session

import (
	"math/big"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// The history of a session goes on when its coordinator begins to measure anew, as it does when counts become
// void: no time is left out.
func TestHistoryGoesOnAfterAQuarantine(t *testing.T) {
	classes, err := symmetry.Classes(8, queens.None)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 8, queens.None, classes, 0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Create(t.TempDir(), ledger.Header{Run: "r", Created: time.Now(), Manifest: m, Trust: ledger.Trust{Redundancy: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		s := &Session{
			cfg: Config{OnSnapshot: func(run.Snapshot) {}}, started: time.Now(), ledger: l, control: new(runstore.Control),
			wallBefore: time.Hour,
		}
		const seconds = 100
		for at := range seconds {
			elapsed := time.Duration(at%60) * time.Second // begins anew after a minute
			s.report(run.Snapshot{Run: "r", Elapsed: run.Seconds{Duration: elapsed}, Solutions: (*run.Decimal)(big.NewInt(int64(at)))})
			time.Sleep(time.Second)
		}
		if stored := l.History().Samples(); l.Wall() != time.Hour+(seconds-1)*time.Second || len(stored) < seconds-2 || stored[0].From != time.Hour {
			t.Errorf("the ledger has %v, and the history %v", l.Wall(), stored)
		}
		var solutions float64
		var covered time.Duration
		for _, sample := range l.History().Samples() {
			solutions, covered = solutions+sample.Solutions, covered+sample.To-sample.From
		}
		if least := (seconds - 2) * time.Second; covered < least || solutions < seconds-2 {
			t.Errorf("the history has %v of %d s, and %v solutions", covered, seconds, solutions)
		}
	})
}
