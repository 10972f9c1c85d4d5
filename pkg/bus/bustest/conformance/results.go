package conformance

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

func publishResults(t *testing.T, b Bus, name string, ids ...uint64) {
	t.Helper()
	for _, id := range ids {
		r := Result(name, id)
		must(t, b.Results.Publish(t.Context(), &r))
	}
}

// Reader reads the results of a run until it or the test ends.
type Reader struct {
	Results   chan run.ChunkResult
	Positions chan run.StreamPosition
	CaughtUp  chan CaughtUp
	stop      context.CancelFunc
	ended     chan error
}

// CaughtUp is a call of caughtUp.
type CaughtUp struct {
	Come int // how many results had come then
	AsOf time.Time
}

func read(t *testing.T, b Bus, after run.StreamPosition) *Reader {
	t.Helper()
	return Read(t, b.Results, run1, after)
}

// Read reads the results of a run after a position.
func Read(t *testing.T, results Results, name string, after run.StreamPosition) *Reader {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &Reader{
		Results: make(chan run.ChunkResult, 10_000), Positions: make(chan run.StreamPosition, 10_000),
		CaughtUp: make(chan CaughtUp, 10_000), stop: stop, ended: make(chan error, 1),
	}
	var busy atomic.Bool
	alone := func(do func()) {
		if busy.Swap(true) {
			t.Error("two calls at the same time")
		}
		do()
		busy.Store(false)
	}
	come := 0
	go func() {
		defer close(r.ended)
		r.ended <- results.Read(ctx, name, after, func(next run.ChunkResult, at run.StreamPosition) {
			alone(func() {
				come++
				r.Positions <- at
				r.Results <- next
			})
		}, func(asOf time.Time) { alone(func() { r.CaughtUp <- CaughtUp{come, asOf} }) })
	}()
	t.Cleanup(func() { r.End(t) })
	return r
}

// End stops the reader and waits for it.
func (r *Reader) End(t *testing.T) {
	t.Helper()
	r.stop()
	if err := receive(t, r.ended, "Read returns"); err != nil {
		t.Errorf("Read ends with the error %v", err)
	}
}

// expect checks that the next results are those of these chunks, and returns their positions.
func (r *Reader) expect(t *testing.T, ids ...uint64) (positions []run.StreamPosition) {
	t.Helper()
	for _, id := range ids {
		check(t, "the chunk of the next result", receive(t, r.Results, "a result").Chunk, id)
		positions = append(positions, <-r.Positions)
	}
	return positions
}

// Await waits until the results of these chunks have come, perhaps among others.
func (r *Reader) Await(t *testing.T, ids ...uint64) {
	t.Helper()
	missing := make(map[uint64]bool)
	for _, id := range ids {
		missing[id] = true
	}
	for len(missing) > 0 {
		delete(missing, receive(t, r.Results, "the results of chunks %v", slices.Collect(maps.Keys(missing))).Chunk)
		<-r.Positions
	}
}

func readDeliversResults(t *testing.T, s *conforming) {
	publishResults(t, s.bus, run1, 5, 6)
	publishResults(t, s.bus, run2, 100)
	first, second := read(t, s.bus, run.StreamPosition{}), read(t, s.other, run.StreamPosition{})
	first.expect(t, 5, 6)
	publishResults(t, s.bus, run2, 101)
	publishResults(t, s.bus, run1, 3)
	if got := receive(t, first.Results, "a new result"); !reflect.DeepEqual(got, Result(run1, 3)) {
		t.Errorf("%+v comes, want %+v", got, Result(run1, 3))
	}
	part := Result(run1, 4)
	part.Worker = "another"
	part = *sealAgain(part)
	must(t, s.bus.Results.Publish(t.Context(), &part))
	publishResults(t, s.bus, run1, 4)
	second.expect(t, 5, 6, 3, 4, 4)
	read(t, s.other, run.StreamPosition{}).expect(t, 5, 6, 3, 4, 4)
}

func readBeginsAfterAPosition(t *testing.T, s *conforming) {
	all := []uint64{1, 2, 3, 4, 5}
	for _, id := range all {
		publishResults(t, s.bus, run2, id+100)
		publishResults(t, s.bus, run1, id)
	}
	first := read(t, s.bus, run.StreamPosition{})
	positions := first.expect(t, all...)
	for i, after := range positions {
		check(t, "a position names its stream", after.Created.IsZero(), false)
		if i > 0 && after.Sequence <= positions[i-1].Sequence {
			t.Errorf("a result at sequence %d comes after one at %d", after.Sequence, positions[i-1].Sequence)
		}
		next := read(t, s.other, after)
		check(t, "results that come until it has caught up", receive(t, next.CaughtUp, "that it has").Come, 4-i)
		next.expect(t, all[i+1:]...)
		next.End(t)
	}
}

// A stream that is made again counts from 1 again. Both a running reader and one that begins with an old
// position read it from the first result.
func readNoticesAnotherStream(t *testing.T, s *conforming) {
	running := read(t, s.bus, run.StreamPosition{})
	publishResults(t, s.bus, run1, 8, 9)
	old := running.expect(t, 8, 9)[1]
	s.DeleteStreams(t)
	s.ensure(t)
	publishResults(t, s.other, run1, 1, 2, 3)
	running.Await(t, 1, 2, 3)
	for _, after := range []run.StreamPosition{old, {Sequence: 2}} {
		position := read(t, s.other, after).expect(t, 1, 2, 3)[0]
		check(t, "the position is one in another stream", position.Created.After(old.Created), true)
	}
}

// readNoticesLostResults returns the property for a server that loses the end of the stream, after which that many
// results are stored: they have sequences that were read before, by a running reader and by one that begins with an
// old position.
func readNoticesLostResults(regrown uint64) func(t *testing.T, s *conforming) {
	return func(t *testing.T, s *conforming) {
		publishResults(t, s.bus, run1, 1, 2)
		s.Save(t)
		running := read(t, s.bus, run.StreamPosition{})
		testkit.Eventually(t, "results are stored", func() bool {
			r := Result(run1, 10)
			return s.other.Results.Publish(t.Context(), &r) == nil // the connection may be lost still
		})
		publishResults(t, s.other, run1, 11, 12)
		running.Await(t, 10, 11)
		position := running.expect(t, 12)[0]
		var again []uint64
		s.RollBack(t, func(b Bus) {
			for i := range regrown {
				again = append(again, 1000+i)
			}
			publishResults(t, b, run1, again...)
		})
		read(t, s.Connect(t), position).Await(t, again...)
		running.Await(t, again...)
	}
}

// The reader takes a while for each result, so that there are always some that it has not read.
func readCatchesUp(t *testing.T, s *conforming) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	publishResults(t, s.bus, run1, 1, 2)
	proceed := make(chan struct{}, 1)
	calls, ended := make(chan CaughtUp, 10_000), make(chan error, 1)
	come := 0
	go func() {
		ended <- s.other.Results.Read(ctx, run1, run.StreamPosition{}, func(run.ChunkResult, run.StreamPosition) {
			come++
			if come > 2 {
				select {
				case <-proceed:
				case <-ctx.Done():
				}
			}
		}, func(asOf time.Time) { calls <- CaughtUp{come, asOf} })
	}()
	last := receive(t, calls, "the first call")
	check(t, "results that came before", last.Come, 2)
	stored := make(chan time.Time, 1_000_000) // when each further result was stored
	publishing := make(chan struct{})
	go func() {
		defer close(publishing)
		for id := uint64(3); ctx.Err() == nil; id++ {
			r := Result(run1, id)
			if s.bus.Results.Publish(ctx, &r) != nil {
				return
			}
			stored <- time.Now()
			if id > 20 {
				select {
				case proceed <- struct{}{}:
				case <-ctx.Done():
				}
			}
		}
	}()
	before := 0 // how many were stored before the time of the last call
	next := receive(t, stored, "a result")
	for range 2 {
		call := receive(t, calls, "another call")
		if !call.AsOf.After(last.AsOf) || call.Come < last.Come {
			t.Errorf("a call %+v after %+v", call, last)
		}
		for next.Before(call.AsOf) {
			before++
			next = receive(t, stored, "another result")
		}
		if call.Come < 2+before {
			t.Errorf("%d results had come, and %d were stored before", call.Come, 2+before)
		}
		last = call
	}
	if before == 0 {
		t.Error("no result was stored between the calls")
	}
	stop()
	<-publishing
	must(t, receive(t, ended, "Read returns"))
}

func trimKeepsWhatIsNeeded(t *testing.T, s *conforming) {
	for id := range uint64(10) {
		publishResults(t, s.bus, run2, id+1)
		publishResults(t, s.bus, run1, id+1)
	}
	first := read(t, s.bus, run.StreamPosition{})
	position := first.expect(t, 1, 2, 3, 4, 5, 6, 7)[6]
	for _, other := range []run.StreamPosition{
		{Created: position.Created.Add(-time.Second), Sequence: 20, Stored: position.Stored},
		{Created: position.Created, Sequence: 20, Stored: position.Stored},
		{Created: position.Created},
	} {
		must(t, s.other.Results.Trim(t.Context(), run1, other))
	}
	read(t, s.other, position).expect(t, 8, 9, 10)
	must(t, s.other.Results.Trim(t.Context(), run1, position))
	read(t, s.other, position).expect(t, 8, 9, 10)
	publishResults(t, s.bus, run1, 11)
	read(t, s.other, position).expect(t, 8, 9, 10, 11)
	Read(t, s.other.Results, run2, run.StreamPosition{}).expect(t, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
}

func changedResultsNeverCome(t *testing.T, s *conforming) {
	changed := Result(run1, 1)
	sealed := *changed.Sealed
	sealed.Statement = slices.Clone(Result(run1, 2).Sealed.Statement)
	changed.Sealed = &sealed
	must(t, s.bus.Results.Publish(t.Context(), &changed))
	publishResults(t, s.bus, run1, 3)
	read(t, s.other, run.StreamPosition{}).expect(t, 3)
}
