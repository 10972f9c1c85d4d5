package watch

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// newRun makes a run of a store, whose ledger is open as in a process that works on it and has no socket.
func newRun(t *testing.T) (*runstore.Store, *ledger.Ledger) {
	t.Helper()
	store, err := runstore.New(t.TempDir(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	classes, err := symmetry.Classes(6, queens.None)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 6, queens.None, classes, 1)
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.Create(m, ledger.Trust{Redundancy: 1}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return store, l
}

// local returns a configuration to follow a run of this machine.
func local(l *ledger.Ledger, statuses *[]Status) Config {
	return Config{
		Run: l.Header().Run, OnWatching: func() {}, OnSnapshot: func(*run.Snapshot) error { return nil },
		OnStatus: func(s Status) { *statuses = append(*statuses, s) },
	}
}

// A run of this machine that ended contradicted ends a watch with that error, and has no total.
func TestFollowLocalToAContradiction(t *testing.T) {
	store, l := newRun(t)
	if err := errors.Join(l.SetState(run.Contradicted), l.Close()); err != nil {
		t.Fatal(err)
	}
	var statuses []Status
	last, err := FollowLocal(t.Context(), store, local(l, &statuses))
	if !errors.Is(err, run.ErrContradiction) || last.Total != nil || last.State != run.Contradicted {
		t.Errorf("the watch ends with %+v, error %v", last, err)
	}
}

// A run whose process has no socket can't be watched by its ledger: after a while the watch ends, and says where to ask.
func TestFollowLocalWithoutASocket(t *testing.T) {
	store, l := newRun(t)
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		var statuses []Status
		begun := time.Now()
		_, err := FollowLocal(t.Context(), store, local(l, &statuses))
		if err == nil || !strings.Contains(err.Error(), "has no socket: name its server with --nats") {
			t.Errorf("the watch ends with %v", err)
		}
		if took := time.Since(begun); took < recordGrace || len(statuses) < 5 || statuses[0].Kind != ProcessSilent {
			t.Errorf("it ends after %v, with %d statuses", took, len(statuses))
		}
	})
}
