package runstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
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
			store, err := runstore.New(t.TempDir(), zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
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
			found, err := store.Resumable(&c.wanted)
			if (err != nil) != c.fails || (found != nil) != c.finds {
				t.Errorf("found %v, error %v; want a run: %v, an error: %v", found, err, c.finds, c.fails)
			}
		})
	}
}
