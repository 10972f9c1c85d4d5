package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"nqueens/pkg/identity"
	"nqueens/pkg/run"
)

// results is the stream of results of all runs. The mutex of the server protects it.
type results struct {
	created  time.Time
	last     uint64
	messages []stored // in the order of their sequences
	seen     map[string]sent
}

// stored is a result in the stream, as its worker signed it.
type stored struct {
	sequence  uint64
	at        time.Time
	run       string
	sealed    run.Sealed
	admission []byte
}

func (r *results) clone() *results {
	return &results{created: r.created, last: r.last, messages: slices.Clone(r.messages), seen: maps.Clone(r.seen)}
}

// holds reports whether the stream is that of a position, and still has the result there.
func (r *results) holds(at run.StreamPosition) bool {
	if !r.created.Equal(at.Created) || r.last < at.Sequence {
		return false
	}
	return at.Sequence == 0 || slices.ContainsFunc(r.messages, func(m stored) bool {
		return m.sequence == at.Sequence && m.at.Equal(at.Stored)
	})
}

// lastOf returns the sequence of the last result of a run, or 0.
func (r *results) lastOf(name string) uint64 {
	for _, m := range slices.Backward(r.messages) {
		if m.run == name {
			return m.sequence
		}
	}
	return 0
}

// Results is the stream of the workers' results, of all runs.
type Results struct{ bus *Bus }

// Results returns the stream of the workers' results.
func (b *Bus) Results() Results { return Results{b} }

// Publish stores a result that was sealed. A result with a wrong signature is stored, and no reader gets it.
func (r Results) Publish(ctx context.Context, result *run.ChunkResult) error {
	if result.Sealed == nil {
		return fmt.Errorf("the result of chunk %016x is not sealed", result.Chunk)
	}
	m := stored{run: result.Run, admission: slices.Clone(result.Admission), sealed: run.Sealed{
		Key:       result.Sealed.Key,
		Statement: slices.Clone(result.Sealed.Statement),
		Signature: slices.Clone(result.Sealed.Signature),
	}}
	id := fmt.Sprintf("%d/%s/%016x/%d/%s", r.bus.id, result.Run, result.Chunk, len(result.Counts), result.Worker)
	err := r.bus.request(ctx, func() error { return r.bus.server.storeResult(id, m) })
	if err != nil {
		return fmt.Errorf("publish the result of chunk %016x: %w", result.Chunk, err)
	}
	return nil
}

// storeResult stores a result at the server, unless it has the same already. s.mu is held.
func (s *Server) storeResult(id string, m stored) error {
	r := s.state.results
	if r == nil {
		return errNoStream
	}
	if before, known := r.seen[id]; known && time.Since(before.at) < dedupWindow && !s.hit(s.faults.Repeated) {
		return nil
	}
	if s.cfg.MaxResults > 0 && len(r.messages) >= s.cfg.MaxResults || s.hit(s.faults.Full) {
		return errFull
	}
	r.last++
	m.sequence, m.at = r.last, s.stamp()
	if r.seen == nil {
		r.seen = make(map[string]sent)
	}
	r.seen[id] = sent{r.last, time.Now()}
	r.messages = append(r.messages, m)
	s.notifyReaders()
	return nil
}

// Trim removes the results of a run before a position, at once, if the stream has the result at the position.
func (r Results) Trim(ctx context.Context, name string, at run.StreamPosition) error {
	s := r.bus.server
	return r.bus.request(ctx, func() error {
		switch stream := s.state.results; {
		case stream == nil:
			return errNoStream
		case at.Sequence > 0 && stream.holds(at):
			stream.messages = slices.DeleteFunc(stream.messages, func(m stored) bool {
				return m.run == name && m.sequence < at.Sequence
			})
		}
		return nil
	})
}

// Read calls each with the results of a run after a position until ctx ends, and caughtUp each time that all
// results have come that were stored before a time. It reads all results if the stream does not have the
// result at the position. It creates the streams and the run's consumer if they are missing.
func (r Results) Read(ctx context.Context, name string, after run.StreamPosition,
	each func(run.ChunkResult, run.StreamPosition), caughtUp func(asOf time.Time),
) error {
	reader := reader{bus: r.bus, run: name, at: after, each: each, caughtUp: caughtUp}
	for {
		if err := reader.look(ctx); err == nil {
			reader.deliverFor(ctx, checkInterval)
		} else {
			_ = sleep(ctx, retryInterval)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// checkInterval is how often a reader looks whether the streams are still those that it knows.
const checkInterval = 2 * time.Second

// reader reads the results of a run.
type reader struct {
	bus        *Bus
	run        string
	at         run.StreamPosition // of the last result read
	generation int                // of the stream that it reads
	each       func(run.ChunkResult, run.StreamPosition)
	caughtUp   func(asOf time.Time)
	asOf       time.Time // the reader catches up with the results stored until then; zero: it does not
	catchUpTo  uint64    // sequence of the last of them
}

// look makes what is missing, and begins with the first result if the stream does not have the last one read.
func (r *reader) look(ctx context.Context) error {
	s, asked := r.bus.server, time.Now()
	return r.bus.request(ctx, func() error {
		s.ensure(r.run)
		stream := s.state.results
		if !stream.holds(r.at) {
			r.at, r.asOf = run.StreamPosition{Created: stream.created}, time.Time{}
		}
		r.generation = s.generation
		if r.asOf.IsZero() {
			r.asOf, r.catchUpTo = asked, stream.lastOf(r.run)
		}
		return nil
	})
}

// deliverFor passes on what comes for a time, or until the stream is another one.
func (r *reader) deliverFor(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for ctx.Err() == nil {
		next, changed, err := r.next(ctx)
		if err != nil {
			return
		}
		if next != nil {
			r.deliver(next)
			continue
		}
		if !r.asOf.IsZero() { // nothing is left of what there was, or it has come
			asOf := r.asOf
			r.asOf = time.Time{}
			r.caughtUp(asOf)
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

var errReplaced = errors.New("the stream is another one")

// next returns the next result, which is late sometimes, or nil and a channel that is closed when there may
// be one. While it catches up, it returns only what it catches up with.
func (r *reader) next(ctx context.Context) (next *stored, changed <-chan struct{}, err error) {
	s := r.bus.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.bus.reach(); err != nil || s.generation != r.generation {
		return nil, nil, errReplaced
	}
	for i := range s.state.results.messages {
		m := s.state.results.messages[i]
		if m.run != r.run || m.sequence <= r.at.Sequence || !r.asOf.IsZero() && m.sequence > r.catchUpTo {
			continue
		}
		late := s.delay()
		s.mu.Unlock()
		err := sleep(ctx, late)
		s.mu.Lock()
		return &m, nil, err
	}
	return nil, s.changed, nil
}

// deliver passes on a result, twice sometimes.
func (r *reader) deliver(m *stored) {
	r.at.Sequence, r.at.Stored = m.sequence, m.at
	if identity.Verify(m.sealed.Key, m.sealed.Statement, m.sealed.Signature) != nil {
		return
	}
	result, err := run.ParseStatement(m.sealed.Statement)
	if err != nil || result.Run != m.run {
		return
	}
	result.Sealed, result.Admission = &m.sealed, m.admission
	s := r.bus.server
	s.mu.Lock()
	again := s.hit(s.faults.Repeated)
	s.mu.Unlock()
	r.each(result, r.at)
	if again {
		r.each(result, r.at)
	}
}
