package coordinator

import (
	"fmt"
	"slices"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// checker does what needs no decision of the loop: it checks tickets and hashes, and makes the chunks of a reply. It is not
// safe for concurrent use.
type checker struct {
	header  *ledger.Header
	index   *split.Index
	tickets *tickets
	hasher  queens.Hasher
	hashes  []uint64
}

func newChecker(h *ledger.Header, index *split.Index) *checker {
	return &checker{header: h, index: index, tickets: newTickets(h)}
}

// request checks the tickets of a work request, and keeps one of the chunks that it lists several times.
func (c *checker) request(from queens.Process, r queens.WorkRequest, origin any) *Request {
	checked := &Request{From: from, WorkRequest: r, Origin: origin}
	listed := make(map[queens.Range]bool, len(r.Held))
	checked.Held = slices.DeleteFunc(checked.Held, func(h queens.Held) bool {
		if listed[h.Range] {
			return true
		}
		listed[h.Range] = true
		invalid := c.validRange(h.Range) != nil || !c.tickets.proves(from.Machine, h.Range, h.Ticket)
		if invalid {
			checked.Invalid = append(checked.Invalid, h.Range)
		}
		return invalid
	})
	return checked
}

// validRange returns an error unless a range has tasks of one class of the run.
func (c *checker) validRange(r queens.Range) error {
	m := &c.header.Manifest
	if err := r.Validate(m.Tasks); err != nil {
		return err
	}
	if class := m.ClassOf(r.First); class != m.ClassOf(r.End()-1) {
		return fmt.Errorf("tasks %v are of several classes", r)
	}
	return nil
}

// delivery checks the tickets and hashes of results.
func (c *checker) delivery(from queens.Process, d queens.Delivery, origin any) *Delivery {
	checked := &Delivery{From: from, Origin: origin}
	for _, r := range d.Results {
		refused := ""
		if err := c.check(from.Machine, &r); err != nil {
			refused = err.Error()
		}
		checked.Results = append(checked.Results, CheckedResult{r, refused})
	}
	return checked
}

// check returns why a result is refused whatever else is known of it.
func (c *checker) check(machine string, r *queens.Result) error {
	switch {
	case c.validRange(r.Range) != nil:
		return c.validRange(r.Range)
	case !c.tickets.proves(machine, r.Range, r.Ticket):
		return fmt.Errorf("tasks %v were not handed out to machine %s by this run", r.Range, machine)
	case r.Counted.Tasks == 0 || !r.Range.Contains(r.Counted) || uint64(len(r.Counts)) != r.Counted.Tasks:
		return fmt.Errorf("%d counts for tasks %v of the chunk %v", len(r.Counts), r.Counted, r.Range)
	}
	c.hashes = c.hashes[:0]
	for _, task := range c.index.Range(r.Counted.First, int(r.Counted.Tasks)) {
		c.hashes = append(c.hashes, c.hasher.Hash(&task))
	}
	if queens.HashOfRange(c.hashes) != r.Hash {
		return fmt.Errorf("tasks %v were searched with other prefixes than this run has", r.Counted)
	}
	return nil
}

// reply makes the chunks of a reply.
func (c *checker) reply(instance uint64, r *Reply) queens.WorkReply {
	full := queens.WorkReply{Number: r.Number, Instance: instance, Drop: r.Drop, Refused: r.Refused}
	for _, chunk := range r.Chunks {
		tasks := c.index.Range(chunk.First, int(chunk.Tasks))
		prefixes := make([][]queens.Prefix, len(tasks))
		for i := range tasks {
			prefixes[i] = tasks[i].Prefixes
		}
		full.Chunks = append(full.Chunks, queens.Chunk{
			Range: chunk, Ticket: c.tickets.of(r.To.Machine, chunk), Board: tasks[0].Board, Prefixes: prefixes,
		})
	}
	return full
}
