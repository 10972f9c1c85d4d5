package main

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A count goes on with a run of the same placed queens, and of no others: neither where no
// board has a task, so that all have the same hash, nor where the other run was split by
// another version, which would stand in the way of the same count.
func TestLatestIsOfTheSameQueens(t *testing.T) {
	const stopped = "n3-a"
	manifest := func(squares ...string) queens.Manifest {
		o := countOptions{symmetry: string(queens.None), depth: 3, place: squares}
		placed, err := o.place.squares(3)
		if err != nil {
			t.Fatal(err)
		}
		o.placed = placed
		m, err := plan(t.Context(), 3, &o)
		if err != nil || m.Tasks != 0 {
			t.Fatalf("%d tasks, error %v", m.Tasks, err)
		}
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
			data := dataFolder{path: t.TempDir()}
			if c.upgrade {
				c.before.SplitVersion--
			}
			l, err := ledger.Create(filepath.Join(data.path, stopped), ledger.Header{Run: stopped, Created: time.Now(), Manifest: c.before})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(l.SetState(run.Stopped), l.Close()); err != nil {
				t.Fatal(err)
			}
			found, err := data.latest(zerolog.Nop(), &c.wanted)
			if (err != nil) != c.fails || (found != nil) != c.finds {
				t.Errorf("found %v, error %v; want a run: %v, an error: %v", found, err, c.finds, c.fails)
			}
		})
	}
}
