package runstore

import (
	"errors"
	"math/big"
	"os"
	"reflect"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// A count resumes a run of the same placed queens, and of no others: neither where the board
// has no tasks, so that all manifests have the same hash, nor where the other run was split
// by another version, which would block a count of the same queens.
func TestResumableIsOfTheSameQueens(t *testing.T) {
	const stopped = "n3-a"
	manifest := func(squares ...string) queens.Manifest {
		placed, err := queens.ParsePlaced(3, squares...)
		if err != nil {
			t.Fatal(err)
		}
		classes, err := symmetry.Classes(3, queens.None, placed...)
		if err != nil {
			t.Fatal(err)
		}
		m, err := split.Plan(t.Context(), 3, queens.None, classes, 3)
		if err != nil || m.Tasks != 0 {
			t.Fatalf("%d tasks, error %v", m.Tasks, err)
		}
		m.Placed = placed
		return m
	}
	for _, c := range []struct {
		name    string
		before  queens.Manifest
		upgrade bool
		wanted  queens.Manifest
		finds   bool
		fails   bool
	}{
		{"the same queens", manifest("1,1"), false, manifest("1,1"), true, false},
		{"no queens", manifest(), false, manifest(), true, false},
		{"other queens", manifest("1,1"), false, manifest("0,0"), false, false},
		{"none any more", manifest("1,1"), false, manifest(), false, false},
		{"the same, of another version", manifest("1,1"), true, manifest("1,1"), false, true},
		{"others, of another version", manifest("1,1"), true, manifest("0,0"), false, false},
		{"none, where others are of another version", manifest("1,1"), true, manifest(), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newStore(t)
			if c.upgrade {
				c.before.SplitVersion--
			}
			l, err := ledger.Create(store.Folder(stopped), ledger.Header{Run: stopped, Created: time.Now(), Manifest: c.before, Trust: ledger.Trust{Redundancy: 1}})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(l.SetState(run.Stopped), l.Close()); err != nil {
				t.Fatal(err)
			}
			found, err := store.Resumable(&c.wanted, func(*Info) bool { return false })
			if (err != nil) != c.fails || (found != nil) != c.finds {
				t.Errorf("found %v, error %v; want a run: %v, an error: %v", found, err, c.finds, c.fails)
			}
		})
	}
}

// completeRun makes the ledger of a board of side 2, which has no tasks and no solution, with a total of its own.
func completeRun(t *testing.T, store *Store, total int64) (name string) {
	t.Helper()
	l := newLedger(t, store, 2, 2)
	l.SetWall(time.Minute)
	if err := errors.Join(l.Complete(big.NewInt(total)), l.Close()); err != nil {
		t.Fatal(err)
	}
	return l.Header().Run
}

// A total that the counts of a ledger do not sum to is not shown.
func TestTotalOfNoCounts(t *testing.T) {
	store := newStore(t)
	if i := store.Inspect(completeRun(t, store, 666)); i.Err != nil || i.State != run.Complete || i.Total != nil || i.Confirmed != nil {
		t.Errorf("it is %+v", i)
	}
}

// The ledger of a finished run is read once, until somebody writes it.
func TestSummary(t *testing.T) {
	store := newStore(t)
	name := completeRun(t, store, 0)
	want := store.Inspect(name)
	if want.Err != nil || want.Known() != queens.Match || want.Level != run.Published || want.Ended.IsZero() || want.Elapsed.Duration != time.Minute {
		t.Fatalf("it is %+v", want)
	}
	file, err := os.Stat(store.Ledger(name))
	if err == nil {
		err = os.WriteFile(store.Ledger(name), make([]byte, file.Size()), 0o600)
	}
	if err := errors.Join(err, os.Chtimes(store.Ledger(name), time.Time{}, file.ModTime())); err != nil {
		t.Fatal(err)
	}
	got := store.Inspect(name)
	if got.Created, got.Ended = want.Created, want.Ended; got.Err != nil || !reflect.DeepEqual(got.Snapshot, want.Snapshot) || !reflect.DeepEqual(got.Manifest, want.Manifest) {
		t.Errorf("it is %+v, want %+v", got, want)
	}
	if err := os.Chtimes(store.Ledger(name), time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := store.Inspect(name); got.Err == nil {
		t.Errorf("of another file it is %+v", got)
	}
}

// The disk of a run has free space, and a folder that does not exist has none.
func TestFree(t *testing.T) {
	store := newStore(t)
	free, err := store.Free("")
	if err != nil || free == 0 {
		t.Errorf("%d bytes are free, error %v", free, err)
	}
	if free, err := store.Free("n8-missing"); err == nil {
		t.Errorf("a run that does not exist has %d free bytes", free)
	}
}
