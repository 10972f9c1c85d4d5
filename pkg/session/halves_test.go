package session_test

import (
	"errors"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/session"
	"nqueens/pkg/split"
)

// Counts by halves give the published totals, through a coordinator, a server and a worker.
func TestCountByHalves(t *testing.T) {
	for n := 1; n <= 14; n++ {
		p := newPlace(t)
		p.Memory = 1 << 26
		_, r, err := p.count(t.Context(),
			session.Job{Method: queens.Halves, N: n, Symmetry: queens.Full, Redundancy: 1})
		known, _ := queens.KnownTotal(n)
		if err != nil || r.Total.String() != known.String() || r.Method != queens.Halves ||
			r.Level != queens.Published {
			t.Errorf("n = %d: %+v, %v, want %v", n, r, err, known)
		}
	}
}

// Without a method, a count goes on with a run of either method. With one, it starts a run of its
// own. A count that nobody asked to be by halves is by prefixes.
func TestMethodOfRun(t *testing.T) {
	p := newPlace(t)
	byHalves, byPrefixes := eight, eight
	byHalves.Method, byPrefixes.Method = queens.Halves, queens.Prefixes
	halves, r, err := p.count(t.Context(), byHalves)
	p.check(r, err)
	if found, r, err := p.count(t.Context(), eight); err != nil || found.Name() != halves.Name() ||
		r.Method != queens.Halves {
		t.Errorf("a count by any method: %+v, %v", r, err)
	}
	prefixes, r, err := p.count(t.Context(), byPrefixes)
	p.check(r, err)
	if prefixes.Name() == halves.Name() || r.Method != queens.Prefixes {
		t.Errorf("a count by prefixes: %+v", r)
	}
	if again, r, err := p.count(t.Context(), byHalves); err != nil || again.Name() != halves.Name() ||
		r.Total.String() != "92" {
		t.Errorf("again by halves: %+v, %v", r, err)
	}
	seven := eight
	seven.N = 7
	if _, r, err := p.count(t.Context(), seven); err != nil || r.Method != queens.Prefixes {
		t.Errorf("n = 7: %+v, %v", r, err)
	}
	byHalves.Symmetry, byHalves.New = queens.Mirror, true
	if _, _, err := p.count(t.Context(), byHalves); !errors.Is(err, split.ErrMethod) {
		t.Errorf("by mirror: %v", err)
	}
}
