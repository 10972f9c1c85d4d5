package watch

import (
	"context"
	"errors"
	"math/big"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// fakeServer is a server in memory, which tests change while a run is watched.
type fakeServer struct {
	mu      sync.Mutex
	down    bool
	open    bool  // to everybody
	err     error // of every request
	records map[string]run.Record
	each    func(*run.Snapshot)
}

func (s *fakeServer) Server() string { return "nats://fake" }

func (s *fakeServer) IsOpen() bool { return s.open }

func (s *fakeServer) Connected() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errors.New("down")
	}
	return nil
}

func (s *fakeServer) Names(context.Context) (names []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.records {
		names = append(names, name)
	}
	return names, s.err
}

func (s *fakeServer) Records(context.Context) (records []run.Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.records {
		records = append(records, r)
	}
	return records, s.err
}

func (s *fakeServer) Record(_ context.Context, name string) (run.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[name]
	if s.err != nil {
		return run.Record{}, s.err
	}
	if !ok {
		return run.Record{}, bus.ErrNoRecord
	}
	return r, nil
}

func (s *fakeServer) SubscribeSnapshots(_ string, each func(*run.Snapshot)) (unsubscribe func(), err error) {
	s.each = each
	return func() {}, nil
}

func (s *fakeServer) set(change func(s *fakeServer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// put stores a record of the run that is updated now.
func (s *fakeServer) put(name string, state run.State, created time.Time) {
	s.set(func(s *fakeServer) {
		if s.records == nil {
			s.records = make(map[string]run.Record)
		}
		s.records[name] = run.Record{
			Run: name, State: state, Created: created, Updated: time.Now(),
			Manifest: queens.Manifest{N: 8, Symmetry: queens.None, Tasks: 4},
		}
	})
}

// complete stores the record of the run as complete, with that total.
func (s *fakeServer) complete(total string) {
	s.put("n8-a", run.Complete, time.Now())
	s.set(func(s *fakeServer) {
		r := s.records["n8-a"]
		r.Snapshot = ended(total, run.Confirmation{})
		s.records["n8-a"] = r
	})
}

// ended returns the snapshot of a complete run in its record.
func ended(total string, c run.Confirmation) *run.Snapshot {
	s, x := completeSnapshot(0), new(big.Int)
	x.SetString(total, 10)
	s.SetTotal(x, &c)
	return &s
}

// remove removes the record of the run n8-a.
func (s *fakeServer) remove() {
	s.set(func(s *fakeServer) { delete(s.records, "n8-a") })
}

// running returns a server with the record of an active run.
func running() *fakeServer {
	s := new(fakeServer)
	s.put("n8-a", run.Running, time.Now())
	return s
}

// watched is a run that is being watched.
type watched struct {
	*fakeServer
	mu   sync.Mutex
	seen presented
}

// presented is what was presented of a run, and how its watch ended.
type presented struct {
	statuses  []Kind // without repetitions
	snapshots []uint64
	ignored   int
	last      run.Snapshot
	err       error
	ended     bool
}

func (w *watched) present(change func(p *presented)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.seen)
}

// now returns what was presented up to now, and forgets the statuses but the last.
func (w *watched) now() presented {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen.statuses = slices.Clone(seen.statuses[max(0, len(seen.statuses)-1):])
	return seen
}

func follow(ctx context.Context, server *fakeServer) *watched {
	w := &watched{fakeServer: server}
	go func() {
		last, err := Follow(ctx, Config{
			Connection: server, Registry: server, Telemetry: server, Run: "n8-a", OnWatching: func() {},
			OnSnapshot: func(s *run.Snapshot) error {
				w.present(func(p *presented) { p.snapshots = append(p.snapshots, s.Done) })
				return nil
			},
			OnStatus: func(s Status) {
				w.present(func(p *presented) { p.statuses = slices.Compact(append(p.statuses, s.Kind)) })
			},
			OnIgnored: func(error) { w.present(func(p *presented) { p.ignored++ }) },
		})
		w.present(func(p *presented) { p.last, p.err, p.ended = last, err, true })
	}()
	synctest.Wait()
	return w
}

func snapshot(state run.State, done uint64) run.Snapshot {
	return run.Snapshot{Run: "n8-a", N: 8, Symmetry: queens.None, State: state, Done: done, Tasks: 4, Solutions: (*run.Decimal)(new(big.Int))}
}

// completeSnapshot is the last snapshot of a run with that total.
func completeSnapshot(total int64) run.Snapshot {
	p := snapshot(run.Complete, 4)
	p.Total = (*run.Decimal)(big.NewInt(total))
	return p
}

func (w *watched) publish(p run.Snapshot) {
	w.each(&p)
	synctest.Wait()
}

// elapse lets time pass to just after a poll.
func elapse(d time.Duration) {
	time.Sleep(d + time.Millisecond)
	synctest.Wait()
}

// A run that completes is presented from its first snapshot to its last, with its total.
func TestFollowToTheTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := follow(t.Context(), running())
		w.publish(snapshot(run.Running, 1))
		elapse(time.Second)
		w.publish(snapshot(run.Running, 3))
		w.complete("92")
		w.publish(completeSnapshot(92))
		got := w.now()
		if !got.ended || got.err != nil || got.last.Total.String() != "92" || !slices.Equal(got.snapshots, []uint64{1, 3, 4}) || !slices.Equal(got.statuses, []Kind{Live}) {
			t.Errorf("presented: %+v", got)
		}
	})
}

// A total counts only when the run's record says that the run is complete, or is removed, as
// coordinators do then. A run continues whatever others publish about it.
func TestFollowIgnoresForgedSnapshots(t *testing.T) {
	other := func(change func(p *run.Snapshot)) run.Snapshot {
		p := completeSnapshot(92)
		change(&p)
		return p
	}
	for _, c := range []struct {
		forged  run.Snapshot
		ignored int
	}{
		{completeSnapshot(92), 0},
		{completeSnapshot(1), 0},
		{snapshot(run.Cancelled, 2), 0},
		{snapshot(run.Contradicted, 2), 0},
		{other(func(p *run.Snapshot) { p.N = 30 }), 1},
		{other(func(p *run.Snapshot) { p.Placed = make([]queens.Square, 1) }), 1},
		{other(func(p *run.Snapshot) { p.Tasks, p.Done = 3, 3 }), 1},
		{other(func(p *run.Snapshot) { p.Symmetry = queens.Full }), 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := follow(t.Context(), running())
			w.publish(snapshot(run.Running, 1))
			w.publish(c.forged)
			elapse(time.Second)
			w.publish(snapshot(run.Running, 2))
			if got := w.now(); got.ended || !slices.Equal(got.snapshots, []uint64{1, 2}) || got.ignored != c.ignored {
				t.Errorf("after %+v: %+v", c.forged, got)
			}
			w.publish(completeSnapshot(92))
			w.remove()
			elapse(time.Second)
			if got := w.now(); !got.ended || got.err != nil || got.last.Total.String() != "92" {
				t.Errorf("after the record is removed: %+v", got)
			}
		})
	}
}

// A server that goes away for good after the last snapshot, before the record could be read, ends
// the watch without a total.
func TestFollowAnEndThatCannotBeConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := follow(t.Context(), running())
		w.publish(snapshot(run.Running, 1))
		w.set(func(s *fakeServer) { s.err = errors.New("gone") })
		w.publish(completeSnapshot(92))
		w.set(func(s *fakeServer) { s.down = true })
		elapse(recordGrace - time.Second)
		if got := w.now(); got.ended {
			t.Fatalf("too early: %+v", got)
		}
		elapse(3 * time.Second)
		if got := w.now(); !got.ended || !errors.Is(got.err, ErrEndMissed) {
			t.Errorf("%+v", got)
		}
	})
}

// A run that ends otherwise is an error, and a wrong total is not presented.
func TestFollowToOtherEnds(t *testing.T) {
	for _, c := range []struct {
		end   run.Snapshot
		err   error
		shown int
	}{
		{snapshot(run.Cancelled, 2), run.ErrCancelled, 1},
		{snapshot(run.Contradicted, 4), run.ErrContradiction, 1},
		{completeSnapshot(93), run.ErrContradiction, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := follow(t.Context(), running())
			w.put("n8-a", c.end.State, time.Now())
			if c.end.Total != nil {
				w.complete(c.end.Total.String())
			}
			w.publish(c.end)
			if got := w.now(); !got.ended || !errors.Is(got.err, c.err) || len(got.snapshots) != c.shown {
				t.Errorf("after %s: %+v", c.end.State, got)
			}
		})
	}
}

// The status follows the server and the coordinator through all their troubles.
func TestFollowReportsTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := running()
		w := follow(t.Context(), server)
		wait := func(d time.Duration, want ...Kind) {
			t.Helper()
			elapse(d)
			if got := w.now(); got.ended || !slices.Equal(got.statuses, want) {
				t.Fatalf("after %v: %+v, want the statuses %v", d, got, want)
			}
		}
		w.publish(snapshot(run.Running, 1))
		wait(time.Second, Live)
		server.set(func(s *fakeServer) { s.down = true })
		wait(time.Minute, Live, ServerDown)
		server.put("n8-a", run.Running, time.Now())
		server.set(func(s *fakeServer) { s.down = false })
		// The coordinator has as long to publish as after a snapshot.
		wait(10*time.Second, ServerDown, Live, AwaitingCoordinator)
		wait(time.Minute, AwaitingCoordinator, CoordinatorSilent)
		server.set(func(s *fakeServer) { s.err = errors.New("no answer") })
		wait(time.Second, CoordinatorSilent, ServerSilent)
		server.set(func(s *fakeServer) { s.err = nil })
		server.put("n8-a", run.Stopped, time.Now())
		wait(time.Second, ServerSilent, Stopped)
		w.publish(snapshot(run.Running, 2))
		wait(time.Second, Stopped, Live)
		w.publish(snapshot(run.Stopped, 2))
		wait(time.Minute, Live, Stopped)
		server.put("n8-a", run.Cancelled, time.Now())
		elapse(time.Second)
		if got := w.now(); !got.ended || !errors.Is(got.err, run.ErrCancelled) {
			t.Errorf("after the record is cancelled: %+v", got)
		}
	})
}

// A run whose record disappears has ended: at once where no snapshot was received, and else
// only after its coordinator had time to restore the record.
func TestFollowARunWithoutARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := follow(t.Context(), &fakeServer{})
		elapse(silenceTimeout + 2*pollInterval)
		if got := w.now(); !got.ended || !errors.Is(got.err, ErrNotActive) {
			t.Errorf("without a snapshot: %+v", got)
		}
		w = follow(t.Context(), running())
		w.remove()
		w.publish(snapshot(run.Running, 1))
		elapse(recordGrace)
		if got := w.now(); got.ended {
			t.Fatalf("after %v: %+v", recordGrace, got)
		}
		w.publish(snapshot(run.Running, 2)) // the run is there after all
		elapse(silenceTimeout + recordGrace - time.Second)
		if got := w.now(); got.ended {
			t.Fatalf("before the grace is over: %+v", got)
		}
		elapse(2 * time.Second)
		if got := w.now(); !got.ended || !errors.Is(got.err, ErrEndMissed) {
			t.Errorf("after the grace: %+v", got)
		}
	})
}

// A watch ends with the cause of its context.
func TestFollowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		w := follow(ctx, &fakeServer{})
		reason := errors.New("enough")
		cancel(reason)
		synctest.Wait()
		if got := w.now(); !got.ended || !errors.Is(got.err, reason) {
			t.Errorf("%+v", got)
		}
	})
}
