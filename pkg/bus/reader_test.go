package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// Read does not wait for results that were removed from the stream.
func TestReadBeginsAfterAPurgedPosition(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for id := range uint64(4) {
		publishResult(t, s.bus, result("n8-a", id+1))
	}
	first := read(t, s.bus)
	after := receive(t, first.Positions, "a result")
	first.End(t)
	s.purge(t, results, jetstream.WithPurgeSequence(4))
	publishResult(t, s.bus, result("n8-a", 5))
	next := readAfter(t, s.other, after)
	check(t, "the result that comes", receive(t, next.Results, "a result").Chunk, 4)
	check(t, "the result that comes", receive(t, next.Results, "a result").Chunk, 5)
	next.End(t)
	s.purge(t, results)
	last := readAfter(t, s.other, after)
	check(t, "results that come until it has caught up", receive(t, last.CaughtUp, "the end").Come, 0)
}

// After a fault that leaves the stream intact, Read continues where it was.
func TestReadRepeatsNothingAfterAFault(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	var log testkit.Log
	s := newScene(t, logTo(&log))
	publishResult(t, s.other, result("n8-a", 2))
	read := read(t, s.bus)
	check(t, "the result that comes", receive(t, read.Results, "a result").Chunk, 2)
	faulty := s.stream(t, results).Config
	faulty.MaxAge = time.Hour
	update(t, s, faulty)
	testkit.Eventually(t, "a log line that results cannot be read", func() bool { return len(log.Lines("can't read results")) == 1 })
	publishResult(t, s.other, result("n8-a", 1))
	faulty.MaxAge = 0
	update(t, s, faulty)
	check(t, "the result that comes", receive(t, read.Results, "a result").Chunk, 1)
	read.End(t)
	check(t, "further results", len(read.Results), 0)
}

// Read notices that its consumer delivers nothing, as one that is lost with its server in a cluster,
// and makes another.
func TestReadReplacesASilentConsumer(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	t.Parallel()
	s := newScene(t)
	read := read(t, s.bus)
	receive(t, read.CaughtUp, "that it has caught up")
	stream, err := s.js.Stream(t.Context(), results)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the consumer of the reader is silenced", func() bool {
		silenced := 0
		for info := range stream.ListConsumers(t.Context()).Info() {
			if _, err := stream.PauseConsumer(t.Context(), info.Name, time.Now().Add(time.Hour)); err != nil {
				return false // the reader has replaced it meanwhile
			}
			silenced++
		}
		return silenced == 1
	})
	publishResult(t, s.other, result("n8-a", 7))
	check(t, "the result that comes", receive(t, read.Results, "a result").Chunk, 7)
	read.End(t)
	check(t, "further results", len(read.Results), 0)
}

// Read removes its consumer when it ends: the server would keep it for half a minute.
func TestReadRemovesItsConsumer(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	removals := s.watch(t, "$JS.API.CONSUMER.DELETE."+results+".>")
	read := read(t, s.bus)
	publishResult(t, s.other, result("n8-a", 7))
	receive(t, read.Results, "a result") // so it has a consumer
	read.End(t)
	receive(t, removals, "the request to remove the consumer")
}

// Read first calls caughtUp after all results that were there at first have come, even if
// there were none.
func TestReadSignalsThatItHasCaughtUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		readable, garbage, readableAfter uint64
	}{
		"nothing":              {0, 0, 0},
		"garbage at the end":   {3, 2, 0},
		"garbage in the midst": {3, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			publishResult(t, s.bus, result("n8-b", 2))
			for id := range c.readable {
				publishResult(t, s.bus, result("n8-a", 1+id))
			}
			for range c.garbage {
				s.raw(t, "nq.result.n8-a", []byte("hello"))
			}
			for id := range c.readableAfter {
				publishResult(t, s.bus, result("n8-a", 1+c.readable+id))
			}
			publishResult(t, s.bus, result("n8-b", 1))
			read := read(t, s.other)
			first := receive(t, read.CaughtUp, "that it has caught up")
			check(t, "results that came before", first.Come, int(c.readable+c.readableAfter))
			check(t, "messages rejected before", s.other.Rejected(), c.garbage)
			publishResult(t, s.bus, result("n8-a", 1000))
			read.Await(t, 1000)
			read.End(t)
		})
	}
}

// If the results to catch up with disappear, Read has caught up too.
func TestReadCatchesUpWithResultsThatDisappear(t *testing.T) {
	t.Parallel()
	for _, c := range testkit.Sample(t, 2, []struct {
		name   string
		remove func(*testing.T, *scene)
	}{
		{"purged", func(t *testing.T, s *scene) { s.purge(t, results) }},
		{"deleted", func(t *testing.T, s *scene) { s.delete(t, results) }},
		{"replaced", func(t *testing.T, s *scene) {
			s.delete(t, results)
			ensureAgain(t, s.bus)
			publishResult(t, s.bus, result("n8-a", 5000))
		}},
		{"replaced by a longer one", func(t *testing.T, s *scene) {
			s.delete(t, results)
			ensureAgain(t, s.bus)
			for id := range uint64(900) {
				publishResult(t, s.bus, result("n8-a", 5000+id))
			}
		}},
	}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			for id := range uint64(700) { // more than the 500 that a reader fetches ahead
				publishResult(t, s.bus, result("n8-a", 1+id))
			}
			ctx, stop := context.WithCancel(t.Context())
			received, proceed := make(chan struct{}, 10_000), make(chan struct{})
			caughtUp, ended := make(chan time.Time, 1000), make(chan error, 1)
			go func() {
				ended <- s.other.Results().Read(ctx, "n8-a", run.StreamPosition{}, func(run.ChunkResult, run.StreamPosition) {
					received <- struct{}{}
					<-proceed
				}, func(asOf time.Time) { caughtUp <- asOf })
			}()
			receive(t, received, "a result")
			c.remove(t, s)
			close(proceed)
			receive(t, caughtUp, "that it has caught up")
			stop()
			if err := receive(t, ended, "Read returns"); err != nil {
				t.Error(err)
			}
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
