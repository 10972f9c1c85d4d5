package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// Each result comes with its position in the stream. A reader that begins after a position
// gets only the results after it.
func TestReadBeginsAfterAPosition(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for id := range uint64(5) {
		publishResult(t, s.bus, result("n8-b", id+100))
		publishResult(t, s.bus, result("n8-a", id))
	}
	first := read(t, s.bus)
	var positions []run.StreamPosition
	for id := range uint64(5) {
		check(t, "the result that comes", receive(t, first.results, "a result").Task, id)
		positions = append(positions, <-first.positions)
		check(t, "its sequence", positions[id].Sequence, 2*id+2)
		check(t, "its stream is the same", positions[id].Created.Equal(s.stream(t, results).Created), true)
	}
	first.end(t)
	for id, after := range positions {
		next := readAfter(t, s.other, after)
		check(t, "results that come until it has caught up", receive(t, next.caughtUp, "the end"), 4-id)
		for later := id + 1; later < 5; later++ {
			check(t, "the result that comes", receive(t, next.results, "a result").Task, uint64(later))
		}
		next.end(t)
	}
}

// If the stream is not the one of the position, or has lost its end since, all of it is
// read.
func TestReadBeginsWithTheFirstResultOfAnotherStream(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishResult(t, s.bus, result("n8-a", 0))
	old := receive(t, read(t, s.bus).positions, "a result")
	s.delete(t, results)
	ensureAgain(t, s.bus)
	for id := range uint64(3) {
		publishResult(t, s.bus, result("n8-a", id+1))
	}
	for name, after := range map[string]run.StreamPosition{
		"of a stream that was replaced": old,
		"of no stream":                  {Sequence: 2},
		"beyond the stream's end":       {Created: s.stream(t, results).Created, Sequence: 4},
	} {
		t.Run(name, func(t *testing.T) {
			again := readAfter(t, s.other, after)
			for id := range uint64(3) {
				check(t, "the result that comes", receive(t, again.results, "a result").Task, id+1)
			}
			again.end(t)
		})
	}
}

// Read does not wait for results that were removed from the stream.
func TestReadBeginsAfterAPurgedPosition(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for id := range uint64(4) {
		publishResult(t, s.bus, result("n8-a", id))
	}
	first := read(t, s.bus)
	after := receive(t, first.positions, "a result")
	first.end(t)
	s.purge(t, results, jetstream.WithPurgeSequence(4))
	publishResult(t, s.bus, result("n8-a", 4))
	next := readAfter(t, s.other, after)
	check(t, "the result that comes", receive(t, next.results, "a result").Task, 3)
	check(t, "the result that comes", receive(t, next.results, "a result").Task, 4)
	next.end(t)
	s.purge(t, results)
	last := readAfter(t, s.other, after)
	check(t, "results that come until it has caught up", receive(t, last.caughtUp, "the end"), 0)
}

// After a fault that leaves the stream intact, Read continues where it was.
func TestReadRepeatsNothingAfterAFault(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	var log bustest.Log
	s := newScene(t, logTo(&log))
	publishResult(t, s.other, result("n8-a", 0))
	read := read(t, s.bus)
	check(t, "the result that comes", receive(t, read.results, "a result").Task, 0)
	faulty := s.stream(t, tasks).Config
	faulty.MaxAge = time.Hour
	update(t, s, faulty)
	testkit.Eventually(t, "a log line that results cannot be read", func() bool { return len(log.Lines("can't read results")) == 1 })
	publishResult(t, s.other, result("n8-a", 1))
	faulty.MaxAge = 0
	update(t, s, faulty)
	check(t, "the result that comes", receive(t, read.results, "a result").Task, 1)
	read.end(t)
	check(t, "further results", len(read.results), 0)
	check(t, "calls of caughtUp", len(read.caughtUp), 1)
}

// Read calls caughtUp once, after all results that were there at first have come, even if
// there were none.
func TestReadSignalsOnceThatItHasCaughtUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		readable, garbage, readableAfter uint64
	}{
		"nothing":              {0, 0, 0},
		"one":                  {1, 0, 0},
		"many":                 {900, 0, 0},
		"garbage alone":        {0, 3, 0},
		"garbage at the end":   {3, 2, 0},
		"garbage in the midst": {3, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			publishResult(t, s.bus, result("n8-b", 0))
			for id := range c.readable {
				publishResult(t, s.bus, result("n8-a", id))
			}
			for range c.garbage {
				s.raw(t, "nq.result.n8-a", []byte("hello"))
			}
			for id := range c.readableAfter {
				publishResult(t, s.bus, result("n8-a", c.readable+id))
			}
			publishResult(t, s.bus, result("n8-b", 1))
			read := read(t, s.other)
			come := receive(t, read.caughtUp, "that it has caught up")
			check(t, "results that came before", come, int(c.readable+c.readableAfter))
			check(t, "messages rejected before", s.other.Rejected(), c.garbage)
			publishResult(t, s.bus, result("n8-a", 1000))
			read.await(t, 1000)
			read.end(t)
			check(t, "further calls of caughtUp", len(read.caughtUp), 0)
		})
	}
}

// If the results to catch up with disappear, Read has caught up too.
func TestReadCatchesUpWithResultsThatDisappear(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*testing.T, *scene){
		"purged":  func(t *testing.T, s *scene) { s.purge(t, results) },
		"deleted": func(t *testing.T, s *scene) { s.delete(t, results) },
		"replaced": func(t *testing.T, s *scene) {
			s.delete(t, results)
			ensureAgain(t, s.bus)
			publishResult(t, s.bus, result("n8-a", 5000))
		},
		"replaced by a longer one": func(t *testing.T, s *scene) {
			s.delete(t, results)
			ensureAgain(t, s.bus)
			for id := range uint64(2000) {
				publishResult(t, s.bus, result("n8-a", 5000+id))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			for id := range uint64(1500) { // more than a reader fetches ahead
				publishResult(t, s.bus, result("n8-a", id))
			}
			ctx, stop := context.WithCancel(t.Context())
			received, proceed := make(chan struct{}, 10_000), make(chan struct{})
			caughtUp, ended := make(chan struct{}, 10), make(chan error, 1)
			go func() {
				ended <- s.other.Results().Read(ctx, "n8-a", run.StreamPosition{}, func(queens.Result, run.StreamPosition) {
					received <- struct{}{}
					<-proceed
				}, func() { caughtUp <- struct{}{} })
			}()
			receive(t, received, "a result")
			remove(t, s)
			close(proceed)
			receive(t, caughtUp, "that it has caught up")
			stop()
			if err := receive(t, ended, "Read returns"); err != nil {
				t.Error(err)
			}
			check(t, "further calls of caughtUp", len(caughtUp), 0)
		})
	}
}

func (s *scene) purge(t *testing.T, name string, options ...jetstream.StreamPurgeOpt) {
	t.Helper()
	stream, err := s.js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), options...); err != nil {
		t.Fatal(err)
	}
}
