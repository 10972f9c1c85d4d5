package coordinator

import (
	"slices"
	"time"

	"nqueens/pkg/run"
)

// stream is a model of the stream of results. A server may lose its end, and store other results under the same
// sequences; or lose all of it, and make another stream of the same name.
type stream struct {
	created time.Time
	last    uint64 // sequence given
	entries []entry
	skew    time.Duration // of the server's clock
	stored  time.Time     // the greatest time given: no two results have the same
	full    bool          // it takes no more until it is trimmed
}

type entry struct {
	sequence uint64
	stored   time.Time
	result   run.ChunkResult
}

// maxEntries is the number of results above which a coordinator trims the stream.
const maxEntries = 40

// publish stores a result, if there is room.
func (s *stream) publish(r *run.ChunkResult) {
	if s.full {
		return
	}
	s.last++
	s.stored = s.stored.Add(1) // nanosecond
	if at := time.Now().Add(s.skew).Round(0); at.After(s.stored) {
		s.stored = at
	}
	s.entries = append(s.entries, entry{s.last, s.stored, *r})
}

// index returns the index of the first entry after a sequence.
func (s *stream) index(after uint64) int {
	i, _ := slices.BinarySearchFunc(s.entries, after+1, func(e entry, sequence uint64) int {
		return int(e.sequence) - int(sequence)
	})
	return i
}

// holds reports whether the stream is that of a position, and has its result.
func (s *stream) holds(at run.StreamPosition) bool {
	if !s.created.Equal(at.Created) || s.last < at.Sequence {
		return false
	}
	if at.Sequence == 0 {
		return true
	}
	i := s.index(at.Sequence - 1)
	return i < len(s.entries) && s.entries[i].sequence == at.Sequence && s.entries[i].stored.Equal(at.Stored)
}

// trim removes the results before a position, if the stream has that.
func (s *stream) trim(at run.StreamPosition) {
	if at.Sequence > 0 && s.holds(at) {
		s.entries = slices.Delete(s.entries, 0, s.index(at.Sequence-1))
	}
}

// roll has the server lose the end of the stream. It counts on from there.
func (s *stream) roll(lost int) {
	s.entries = s.entries[:max(len(s.entries)-lost, 0)]
	s.last -= min(uint64(lost), s.last)
}

// remake replaces the stream by an empty one of the same name.
func (s *stream) remake() {
	s.created, s.last, s.entries = time.Now().Add(s.skew).Round(0), 0, nil
}

// reader is a model of the reader of a coordinator, see bus.Results.Read.
type reader struct {
	at   run.StreamPosition // of the last result read
	asOf time.Time          // the reader catches up with what was stored then; zero: with nothing
	upTo uint64
}

// read passes the next results on to the event loop.
func (h *host) read(most int) {
	w, r := h.w, &h.reader
	s := &w.stream
	if h.stopped || len(h.inbox) > 64 {
		return
	}
	if w.fault("results read again", 0.02) {
		if n := len(s.entries); n > 0 && w.rng.IntN(2) == 0 {
			e := s.entries[w.rng.IntN(n)]
			r.at = run.StreamPosition{Created: s.created, Sequence: e.sequence, Stored: e.stored}
		} else {
			r.at = run.StreamPosition{Created: s.created}
		}
		r.asOf = time.Time{}
	}
	if !s.holds(r.at) {
		r.at, r.asOf = run.StreamPosition{Created: s.created}, time.Time{}
	}
	if r.asOf.IsZero() {
		r.asOf, r.upTo = time.Now(), s.last
	}
	for i := s.index(r.at.Sequence); i < len(s.entries) && most > 0; i, most = i+1, most-1 {
		e := &s.entries[i]
		r.at.Sequence, r.at.Stored = e.sequence, e.stored
		h.inbox = append(h.inbox, delivery{result: e.result, position: r.at, wrong: hasWrongHash(h.core.index, &e.result)})
	}
	if s.index(r.at.Sequence) == len(s.entries) || r.at.Sequence >= r.upTo || w.fault("stale read of the results", 0.02) {
		h.inbox = append(h.inbox, delivery{caughtUp: r.asOf})
		r.asOf = time.Time{}
	}
}

// deliver has the event loop take up results.
func (h *host) deliver(most int) {
	if h.stopped || len(h.inbox) == 0 {
		return
	}
	batch := h.inbox[:min(most, len(h.inbox))]
	h.inbox = h.inbox[len(batch):]
	for i := range batch {
		d := &batch[i]
		if !d.caughtUp.IsZero() {
			continue
		}
		h.w.note("epoch %d: delivered %d: chunk %x, tasks %d+%d by %s", h.epoch, d.position.Sequence, d.result.Chunk, d.result.First, len(d.result.Counts), d.result.Worker)
	}
	h.check(h.core.deliver(time.Now(), batch))
	if !h.stopped {
		h.checkDelivered(batch)
	}
}
