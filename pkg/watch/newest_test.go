package watch

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/run"
)

// The newest run is an active one if there is any, else an unfinished one, else a complete one with its total.
func TestNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		if name, err := Newest(t.Context(), server, server); !errors.Is(err, ErrNoRuns) {
			t.Errorf("without runs: %q, %v", name, err)
		}
		server.complete("92")
		if name, err := Newest(t.Context(), server, server); name != "n8-a" || err != nil {
			t.Errorf("with a complete run: %q, %v", name, err)
		}
		start := time.Now()
		for i, c := range []struct {
			state run.State
			want  int // after this run is there too
		}{
			{run.Stopped, 0}, {run.Running, 1}, {run.Stopped, 1}, {run.Running, 3}, {run.Complete, 3}, {run.Cancelled, 3},
		} {
			server.put(fmt.Sprintf("n8-%d", i), c.state, start.Add(time.Duration(i)*time.Second))
			if name, err := Newest(t.Context(), server, server); name != fmt.Sprintf("n8-%d", c.want) || err != nil {
				t.Errorf("of %d runs it is %q (error %v), want that of index %d", i+1, name, err, c.want)
			}
		}
	})
}

// Newest waits for a server that is down, and then for runs whose record is restored.
func TestNewestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{down: true}
		time.AfterFunc(time.Hour, func() { server.set(func(s *fakeServer) { s.down = false }) })
		time.AfterFunc(time.Hour+recordGrace-2*time.Second, func() { server.put("n8-a", run.Running, time.Now()) })
		if name, err := Newest(t.Context(), server, server); name != "n8-a" || err != nil {
			t.Errorf("%q, %v", name, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{down: true}
		time.AfterFunc(time.Hour, func() { server.set(func(s *fakeServer) { s.down = false }) })
		start := time.Now()
		if name, err := Newest(t.Context(), server, server); !errors.Is(err, ErrNoRuns) || time.Since(start) < time.Hour+recordGrace {
			t.Errorf("%q, %v after %v", name, err, time.Since(start))
		}
	})
}

// Another waits for a run that is active and has another name: not for one that has ended.
func TestAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		server.put("n8-a", run.Running, time.Now())
		time.AfterFunc(time.Minute, func() { server.put("n8-b", run.Complete, time.Now()) })
		time.AfterFunc(time.Hour, func() { server.put("n8-c", run.Running, time.Now()) })
		if name, err := Another(t.Context(), server, server, "n8-c"); name != "n8-a" || err != nil {
			t.Errorf("%q, %v, want the active run", name, err)
		}
		start := time.Now()
		if name, err := Another(t.Context(), server, server, "n8-a"); name != "n8-c" || err != nil || time.Since(start) < 50*time.Minute {
			t.Errorf("%q, %v after %v, want the run that begins after an hour", name, err, time.Since(start))
		}
	})
}
