package ledger_test

import (
	"math/big"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// The wall time survives with results, without them once it has grown by 10 s, and with a state. It never falls.
func TestWall(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 10)
	for _, step := range []struct {
		wall   time.Duration
		store  func()
		stored time.Duration
	}{
		{time.Second, func() {}, 0},
		{time.Second, func() { accept(t, l, position(1), result(1, 1, 1)) }, time.Second},
		{10 * time.Second, func() { accept(t, l, position(1)) }, time.Second},
		{11 * time.Second, func() { accept(t, l, position(1)) }, 11 * time.Second},
		{5 * time.Second, func() { accept(t, l, position(2), result(2, 1, 1)) }, 11 * time.Second},
		{12 * time.Second, func() { setState(t, l, run.Running) }, 12 * time.Second},
		{13 * time.Second, func() { setState(t, l, run.Stopped) }, 13 * time.Second},
	} {
		l.SetWall(step.wall)
		step.store()
		if got := storedWall(t, l); got != step.stored {
			t.Errorf("at %v, %v are stored, want %v", step.wall, got, step.stored)
		}
	}
	if l = reopened(t, l, folder); l.Wall() != 13*time.Second {
		t.Errorf("opened again, it is %v", l.Wall())
	}
}

func setState(t *testing.T, l *ledger.Ledger, s run.State) {
	t.Helper()
	if err := l.SetState(s); err != nil {
		t.Fatal(err)
	}
}

// stored opens a copy of a ledger, as a reader would find it after a crash.
func stored(t *testing.T, l *ledger.Ledger) *ledger.Ledger {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy")
	if _, err := copyTo(l, path); err != nil {
		t.Fatal(err)
	}
	return open(t, ledger.OpenFile, path)
}

func storedWall(t *testing.T, l *ledger.Ledger) time.Duration {
	t.Helper()
	return stored(t, l).Wall()
}

// The history survives: what is older than a minute always, and all of it once a state is stored. It goes on in the
// next process.
func TestHistory(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 4000)
	found := int64(0)
	observe := func(wall time.Duration) {
		found += 1000
		l.SetWall(wall)
		l.History().Observe(wall, &run.Snapshot{Solutions: (*run.Decimal)(big.NewInt(found)), Threads: 4})
	}
	wall := time.Duration(0)
	for task := range uint64(900) {
		wall = time.Duration(task) * time.Second
		observe(wall)
		accept(t, l, position(task), result(task, 1, 1))
		if task%100 == 59 {
			samples := stored(t, l).History().Samples()
			if task > 60 && (len(samples) == 0 || samples[len(samples)-1].To < wall-70*time.Second) {
				t.Errorf("after %v the stored history is %v", wall, samples)
			}
		}
	}
	setState(t, l, run.Stopped)
	want := slices.Clone(l.History().Samples())
	l = reopened(t, l, folder)
	if got := l.History().Samples(); len(got) < 100 || !slices.Equal(got, want) {
		t.Errorf("the history is %v, want %v", got, want)
	}
	for range 900 {
		wall += time.Second
		observe(wall)
	}
	samples := l.History().Samples()
	if rest, ok := l.History().Rest(); ok {
		samples = append(slices.Clone(samples), rest)
	}
	end, solutions := time.Duration(0), 0.0
	for _, s := range samples {
		if s.From != end {
			t.Errorf("a sample begins at %v, after one that ends at %v", s.From, end)
		}
		end, solutions = s.To, solutions+s.Solutions
	}
	if end != wall || solutions != float64(found-1000) {
		t.Errorf("the history ends at %v with %v solutions, want %v with %d", end, solutions, wall, found-1000)
	}
}

// The history is stored every 10 s, not with each result.
func TestHistoryIsNotStoredOften(t *testing.T) {
	l := create(t, t.TempDir(), 100)
	changes, last := 0, 0
	for task := range uint64(50) {
		wall := time.Duration(task) * 5 * time.Second
		l.SetWall(wall)
		l.History().Observe(wall, &run.Snapshot{Solutions: (*run.Decimal)(big.NewInt(int64(task))), Threads: 4})
		accept(t, l, position(task), result(task, 1, 1))
		if n := len(stored(t, l).History().Samples()); n != last {
			last, changes = n, changes+1
		}
	}
	if changes != 24 {
		t.Errorf("in 245 s it is stored %d times", changes)
	}
}

// A ledger has the end of its run and the total until the run goes on, also after it is opened again.
func TestEnd(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 10)
	check := func(what string, ended bool, total *big.Int) {
		t.Helper()
		for range 2 {
			if got := l.Total(); !l.Ended().IsZero() != ended || time.Since(l.Ended()) < 0 || (got == nil) != (total == nil) || total != nil && got.Cmp(total) != 0 {
				t.Errorf("%s: it ended at %v with the total %d", what, l.Ended(), got)
			}
			l = reopened(t, l, folder)
		}
	}
	check("new", false, nil)
	setState(t, l, run.Stopped)
	check("stopped", true, nil)
	setState(t, l, run.Running)
	check("resumed", false, nil)
	total, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	if err := l.Complete(total); err != nil {
		t.Fatal(err)
	}
	check("complete", true, total)
}
