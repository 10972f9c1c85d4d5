package runstore

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// A key's quarantine ends in every run of the store: in stopped ones, and through the process that
// works on a run. Runs in which the key is not quarantined are not named; if there is no other run, that is
// an error.
func TestLift(t *testing.T) {
	folder := t.TempDir()
	key := identitytest.Of("w").Key()
	quarantine := func(l *ledger.Ledger) {
		if err := l.Quarantine(run.QuarantinedKey{Key: key, Reason: "wrong", At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			var err error
			if _, more, err = l.Revoke(); err != nil {
				t.Fatal(err)
			}
		}
	}
	store, stopped := activeRun(t, folder)
	quarantine(stopped)
	name := stopped.Header().Run
	if err := stopped.Close(); err != nil {
		t.Fatal(err)
	}
	_, active := activeRun(t, folder)
	quarantine(active)
	control, _ := serve(t, store, active)
	defer control.ServeLifts(func(_ context.Context, key string) error { return active.Lift(key) })()
	_, other := activeRun(t, folder)
	control, _ = serve(t, store, other)
	defer control.ServeLifts(func(_ context.Context, key string) error { return other.Lift(key) })()

	runs, err := store.Lift(t.Context(), key)
	want := []string{name, active.Header().Run}
	slices.Sort(runs)
	slices.Sort(want)
	if err != nil || !slices.Equal(runs, want) {
		t.Errorf("lifted in %v, %v, want %v", runs, err, want)
	}
	if runs, err := store.Lift(t.Context(), key); !errors.Is(err, ErrNotQuarantined) || len(runs) > 0 {
		t.Errorf("lifted again in %v, %v", runs, err)
	}
	for _, key := range []string{"no key", run.Referee} {
		if _, err := store.Lift(t.Context(), key); err == nil {
			t.Errorf("%q, which is no key, was lifted", key)
		}
	}
}

// A run whose process can't be asked is an error that names it.
func TestLiftOfASilentProcess(t *testing.T) {
	store, l := activeRun(t, t.TempDir())
	runs, err := store.Lift(t.Context(), identitytest.Of("w").Key())
	if err == nil || len(runs) > 0 || errors.Is(err, context.Canceled) {
		t.Errorf("lifted in %v, %v, although %s is locked", runs, err, l.Header().Run)
	}
}
