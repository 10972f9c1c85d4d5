package runstore

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// newRun creates a run in that state, which ended that long ago, and returns its name. A complete one has all counts.
func newRun(t *testing.T, s *Store, state run.State, age time.Duration) string {
	t.Helper()
	counts := uint64(0)
	if state == run.Complete {
		counts = math.MaxUint64
	}
	return newRunWith(t, s, state, age, counts)
}

// newRunWith makes a run as newRun does, with at most that number of counts.
func newRunWith(t *testing.T, s *Store, state run.State, age time.Duration, counts uint64) string {
	t.Helper()
	l := newLedger(t, s, 6, 2)
	var results []run.Result
	for task := range min(counts, l.Header().Manifest.Tasks) {
		results = append(results, run.Result{Task: task, Attempt: 1, Worker: run.Referee, Kernel: "generic"})
	}
	if _, err := l.Accept(results, 0, run.StreamPosition{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.SetState(state), l.Close()); err != nil {
		t.Fatal(err)
	}
	ended := time.Now().Add(-age)
	if err := os.Chtimes(s.Ledger(l.Header().Run), ended, ended); err != nil {
		t.Fatal(err)
	}
	return l.Header().Run
}

// newLedger creates a run of a board of side n, and returns its ledger, which is open for writing.
func newLedger(t *testing.T, s *Store, n, depth int) *ledger.Ledger {
	t.Helper()
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), n, queens.Full, classes, depth)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Create(m, ledger.Trust{Redundancy: 1}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func newStore(t *testing.T) *Store {
	t.Helper()
	s, err := New(t.TempDir(), zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// prune removes runs, or says which, and returns their names, sorted.
func prune(t *testing.T, s *Store, before time.Time, dryRun bool) (names []string, err error) {
	t.Helper()
	err = s.Prune(t.Context(), func(_ string, ended time.Time) bool { return ended.Before(before) }, dryRun, func(p Pruned) {
		if p.Bytes == 0 {
			t.Errorf("run %s frees nothing", p.Run)
		}
		names = append(names, p.Run)
	})
	slices.Sort(names)
	return names, err
}

// left returns the names of the folders of runs, sorted.
func left(t *testing.T, s *Store) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(s.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func sorted(names ...string) []string { return slices.Sorted(slices.Values(names)) }

// A complete run that has lost counts stays, also after a command has removed their damaged records: it can be resumed.
func TestPruneKeepsWhatLacksCounts(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	lacking := newRunWith(t, s, run.Complete, time.Hour, 1)
	for range 2 { // by the ledger, and by the summary of it
		if got, err := prune(t, s, time.Now(), false); err != nil || len(got) > 0 {
			t.Fatalf("removed %q (%v), want nothing", got, err)
		}
	}
	if got := left(t, s); !slices.Equal(got, []string{lacking}) {
		t.Errorf("left are %q, want %q", got, lacking)
	}
}

// Only runs that are complete or cancelled are removed, only those that ended before the time, and
// none that is in use or can't be read. A dry run removes nothing.
func TestPrune(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	complete, cancelled := newRun(t, s, run.Complete, time.Hour), newRun(t, s, run.Cancelled, 3*time.Hour)
	kept := []string{newRun(t, s, run.Running, time.Hour), newRun(t, s, run.Stopped, time.Hour), newRun(t, s, run.Contradicted, time.Hour)}
	damaged := newRun(t, s, run.Complete, time.Hour)
	if err := os.Truncate(s.Ledger(damaged), 100); err != nil {
		t.Fatal(err)
	}
	inUse := newLedger(t, s, 6, 2)
	if err := inUse.SetState(run.Complete); err != nil {
		t.Fatal(err)
	}
	read := newRun(t, s, run.Complete, time.Hour)
	reader, err := s.OpenReadOnly(read)
	if err != nil {
		t.Fatal(err)
	}
	kept = append(kept, damaged, inUse.Header().Run, read)
	if err := os.Mkdir(filepath.Join(s.path, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	kept = append(kept, "keys")

	now := time.Now()
	if got, err := prune(t, s, now, true); err != nil || !slices.Equal(got, sorted(complete, cancelled, read)) {
		t.Errorf("would remove %q (%v), want %q", got, err, sorted(complete, cancelled, read))
	}
	if got, want := left(t, s), sorted(append(kept, complete, cancelled)...); !slices.Equal(got, want) {
		t.Fatalf("a dry run leaves %q, want %q", got, want)
	}
	if got, err := prune(t, s, now.Add(-2*time.Hour), false); err != nil || !slices.Equal(got, []string{cancelled}) {
		t.Errorf("of those that ended two hours ago, removed %q (%v), want %q", got, err, cancelled)
	}
	if got, err := prune(t, s, now, false); err != nil || !slices.Equal(got, []string{complete}) {
		t.Errorf("removed %q (%v), want %q", got, err, complete)
	}
	if got, want := left(t, s), sorted(kept...); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := prune(t, s, now, false); err != nil || !slices.Equal(got, []string{read}) {
		t.Errorf("removed %q (%v), want %q, which nobody reads any more", got, err, read)
	}
}

// A run whose removal was interrupted is no run any more, and the next Prune removes what is left of
// it. So it is with a folder that can't be removed; other runs are removed all the same.
func TestInterruptedPrune(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	name, other := newRun(t, s, run.Complete, time.Hour), newRun(t, s, run.Complete, 2*time.Hour)
	broken := errors.New("the disk is broken")
	s.removeAll = func(folder string) error {
		if filepath.Base(folder) != prunedPrefix+name {
			return os.RemoveAll(folder)
		}
		if err := os.WriteFile(filepath.Join(folder, "holder.json"), []byte("left"), 0o600); err != nil {
			t.Error(err)
		}
		return errors.Join(broken, os.Remove(filepath.Join(folder, ledger.File)))
	}
	if got, err := prune(t, s, time.Now(), false); !errors.Is(err, broken) || !slices.Equal(got, []string{other}) {
		t.Errorf("removed %q, error %v", got, err)
	}
	if s.Exists(name) {
		t.Error("a run that is removed in part exists")
	}
	if names, err := s.Names(); err != nil || len(names) != 0 {
		t.Errorf("the runs are %q (%v), want none", names, err)
	}
	s.removeAll = os.RemoveAll
	if got, err := prune(t, s, time.Time{}, true); err != nil || !slices.Equal(got, []string{name}) {
		t.Errorf("would remove %q (%v), want the rest of %s", got, err, name)
	}
	if got, err := prune(t, s, time.Time{}, false); err != nil || !slices.Equal(got, []string{name}) {
		t.Errorf("removed %q (%v), want the rest of %s", got, err, name)
	}
	if got := left(t, s); len(got) != 0 {
		t.Errorf("left are %q", got)
	}
}

// A run killed between the two steps of its removal, with its ledger whole, is not listed either.
func TestPruneKilledAfterTheRename(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	name := newRun(t, s, run.Cancelled, time.Hour)
	if err := os.Rename(s.Folder(name), filepath.Join(s.path, prunedPrefix+name)); err != nil {
		t.Fatal(err)
	}
	if runs, err := s.List(); err != nil || len(runs) != 0 {
		t.Errorf("listed %+v (%v), want no run", runs, err)
	}
	if got, err := prune(t, s, time.Time{}, false); err != nil || !slices.Equal(got, []string{name}) {
		t.Errorf("removed %q (%v), want %s", got, err, name)
	}
}
