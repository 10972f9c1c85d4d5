package coordinator

import (
	"fmt"
	"slices"
	"sync"

	"nqueens/pkg/coordinator/core"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// station does what needs no decision of the core: it checks tickets and hashes, and computes the
// prefixes of the chunks of a reply. Each station has a goroutine, and there are as many as CPUs:
// with a goroutine for each message, workers got half as many tasks a second.
type station struct {
	header  *ledger.Header
	index   *split.Index
	tickets *tickets
	hasher  queens.Hasher
	hashes  []uint64
}

func newStation(h *ledger.Header, index *split.Index) *station {
	return &station{header: h, index: index, tickets: newTickets(h)}
}

// request checks the tickets of a work request. A chunk that is listed several times stays in the
// list once.
func (s *station) request(from queens.Process, r queens.WorkRequest, origin sender) *core.Request {
	checked := &core.Request{From: from, WorkRequest: r, Origin: origin}
	listed := make(map[queens.Range]bool, len(r.Held))
	checked.Held = slices.DeleteFunc(checked.Held, func(h queens.Held) bool {
		if listed[h.Range] {
			return true
		}
		listed[h.Range] = true
		invalid := s.validRange(h.Range) != nil || !s.tickets.proves(from.Machine, h.Range, h.Ticket)
		if invalid {
			checked.Invalid = append(checked.Invalid, h.Range)
		}
		return invalid
	})
	return checked
}

// validRange returns an error unless all tasks of a range are of the run and of one class.
func (s *station) validRange(r queens.Range) error {
	m := &s.header.Manifest
	if err := r.Validate(m.Tasks); err != nil {
		return err
	}
	if class := m.ClassOf(r.First); class != m.ClassOf(r.End()-1) {
		return fmt.Errorf("tasks %v are of several classes", r)
	}
	return nil
}

// delivery checks the tickets and hashes of results.
func (s *station) delivery(from queens.Process, d queens.Delivery, origin sender) *core.Delivery {
	checked := &core.Delivery{From: from, Origin: origin}
	for _, r := range d.Results {
		refused := ""
		if err := s.check(from.Machine, &r); err != nil {
			refused = err.Error()
		}
		checked.Results = append(checked.Results, core.CheckedResult{Result: r, Refused: refused})
	}
	return checked
}

// check returns what is wrong with the ticket, hash, ranges or number of counts of a result.
func (s *station) check(machine queens.Machine, r *queens.Result) error {
	switch {
	case s.validRange(r.Range) != nil:
		return s.validRange(r.Range)
	case !s.tickets.proves(machine, r.Range, r.Ticket):
		return fmt.Errorf("tasks %v were not handed out to machine %s of user %s by this run", r.Range,
			machine.Name, machine.User)
	case r.Counted.Tasks == 0 || !r.Range.Contains(r.Counted) ||
		uint64(len(r.Counts)) != r.Counted.Tasks:
		return fmt.Errorf("%d counts for tasks %v of the chunk %v", len(r.Counts), r.Counted, r.Range)
	}
	s.hashes = s.hashes[:0]
	for _, task := range s.index.Range(r.Counted.First, int(r.Counted.Tasks)) {
		s.hashes = append(s.hashes, s.hasher.Hash(&task))
	}
	if queens.HashOfRange(s.hashes) != r.Hash {
		return fmt.Errorf("tasks %v are not what was searched: this run has other prefixes or row sets",
			r.Counted)
	}
	return nil
}

// reply makes the message of a reply: it adds ticket, board and prefixes to each chunk.
func (s *station) reply(instance uint64, r *core.Reply) queens.WorkReply {
	full := queens.WorkReply{Number: r.Number, Instance: instance, Kept: r.Kept, Drop: r.Drop,
		Refused: r.Refused}
	for _, chunk := range r.Chunks {
		tasks := s.index.Range(chunk.First, int(chunk.Tasks))
		full.Chunks = append(full.Chunks, queens.ChunkOf(s.tickets.of(r.To.Machine, chunk), tasks))
	}
	return full
}

// queue is a queue without a bound: put never waits, so the loop waits for neither a station nor
// the disk. What goes through the queues has bounds elsewhere: room bounds the messages of workers,
// and a message has one reply.
type queue[T any] struct {
	lock  sync.Mutex
	items []T
	ready chan struct{} // has an element while there are items
}

func newQueue[T any]() *queue[T] { return &queue[T]{ready: make(chan struct{}, 1)} }

func (m *queue[T]) put(item T) {
	m.lock.Lock()
	m.items = append(m.items, item)
	m.lock.Unlock()
	m.signal()
}

// take takes the oldest items, up to the given number. There may be none.
func (m *queue[T]) take(most int) []T {
	m.lock.Lock()
	defer m.lock.Unlock()
	n := min(most, len(m.items))
	taken := m.items[:n]
	m.items = m.items[n:]
	if len(m.items) > 0 {
		m.signal() // another goroutine takes the rest
	}
	return taken
}

func (m *queue[T]) signal() {
	select {
	case m.ready <- struct{}{}:
	default:
	}
}
