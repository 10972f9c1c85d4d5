package watch

import (
	"errors"
	"math/big"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A total is what the run's record says, not what a message claims; nothing is published for this one. While
// the record has none, or after it is removed, there is none.
func TestFollowShowsTheTotalOfTheRecord(t *testing.T) {
	for _, c := range []struct {
		record  string // its total; empty for a record without one
		removed bool
		want    error
	}{{"77", false, nil}, {"", false, ErrEndMissed}, {"77", true, ErrEndMissed}} {
		synctest.Test(t, func(t *testing.T) {
			w := follow(t.Context(), unpublished())
			first, forged := snapshot(run.Running, 1), completeSnapshot(666)
			first.Placed, forged.Placed = make([]queens.Square, 1), make([]queens.Square, 1)
			w.publish(first)
			w.put("n8-a", run.Complete, time.Now())
			w.set(func(s *fakeServer) {
				r := s.records["n8-a"]
				if r.Manifest.Placed = make([]queens.Square, 1); c.record != "" {
					r.Snapshot = ended(c.record, run.Confirmation{})
				}
				s.records["n8-a"] = r
			})
			if c.removed {
				w.remove()
			}
			w.publish(forged)
			elapse(time.Minute)
			got := w.now()
			if !got.ended || !errors.Is(got.err, c.want) || (c.want == nil) != (got.last.Total != nil) || c.want == nil && got.last.Total.String() != c.record {
				t.Errorf("%+v: %+v", c, got)
			}
		})
	}
}

// unpublished returns a server with the record of an active run for whose board no total is published.
func unpublished() *fakeServer {
	s := running()
	r := s.records["n8-a"]
	r.Manifest.Placed = make([]queens.Square, 1)
	s.records["n8-a"] = r
	return s
}

// A watch that begins after the end shows the total of the record.
func TestFollowAFinishedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := running()
		server.complete("92")
		w := follow(t.Context(), server)
		elapse(silenceTimeout + 2*pollInterval)
		if got := w.now(); !got.ended || got.err != nil || got.last.Total.String() != "92" || len(got.snapshots) != 1 {
			t.Errorf("presented: %+v", got)
		}
	})
}

// Where anybody can write the record, no total is shown but the published one.
func TestFollowOnAnOpenServer(t *testing.T) {
	for _, c := range []struct {
		placed int
		total  int64
		want   error
	}{{0, 92, nil}, {1, 4, ErrOpenServer}, {0, 93, run.ErrContradiction}} {
		synctest.Test(t, func(t *testing.T) {
			server := running()
			if c.placed > 0 {
				server = unpublished()
			}
			server.open = true
			manifest := server.records["n8-a"].Manifest
			w := follow(t.Context(), server)
			first, last := snapshot(run.Running, 1), completeSnapshot(c.total)
			first.Placed, last.Placed = manifest.Placed, manifest.Placed
			w.publish(first)
			w.complete(last.Total.String())
			w.set(func(s *fakeServer) {
				r := s.records["n8-a"]
				r.Manifest = manifest
				s.records["n8-a"] = r
			})
			w.publish(last)
			if got := w.now(); !got.ended || !errors.Is(got.err, c.want) || (c.want == nil) != (got.last.Total != nil) {
				t.Errorf("%+v: %+v", c, got)
			}
		})
	}
}

// What stands behind a total is what the run's record says of it, not what a message claims; a
// published total is known without either.
func TestFollowToTheConfirmation(t *testing.T) {
	claimed := run.Confirmation{Redundancy: 2, Tasks: 4, Checked: 4}
	stored := run.Confirmation{Redundancy: 1, Tasks: 4, Checked: 1, Sampled: true}
	for _, c := range []struct {
		n        int
		recorded bool
		want     run.Level
	}{{8, true, run.Published}, {8, false, run.Published}, {30, true, run.Sampled}} {
		synctest.Test(t, func(t *testing.T) {
			server := running()
			change := func(r run.Record) {
				r.Manifest.N = c.n
				server.set(func(s *fakeServer) { s.records["n8-a"] = r })
			}
			change(server.records["n8-a"])
			w := follow(t.Context(), server)
			first, last := snapshot(run.Running, 1), completeSnapshot(92)
			first.N, last.N = c.n, c.n
			last.SetTotal(big.NewInt(92), &claimed)
			w.publish(first)
			if c.recorded {
				r := server.records["n8-a"]
				r.State, r.Snapshot = run.Complete, ended("92", stored)
				change(r)
			} else {
				w.remove()
			}
			w.publish(last)
			if got := w.now(); !got.ended || got.err != nil || got.last.Level != c.want {
				t.Errorf("%+v: %+v", c, got)
			}
		})
	}
}
