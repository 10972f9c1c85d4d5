package coordinator

import (
	"fmt"
	"slices"
	"testing"

	"nqueens/pkg/coordinator/core"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/testkit"
)

// testStation returns a station for a run with n = 8, in which each prefix is a task of its own.
func testStation(t *testing.T) *station {
	t.Helper()
	classes, err := symmetry.Classes(8, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	m, index, err := split.Plan(t.Context(), 8, queens.Full, classes, 2)
	if err != nil {
		t.Fatal(err)
	}
	return newStation(&ledger.Header{Run: "n8-a", Manifest: m, Secret: ledger.Secret{1}}, index)
}

// honest returns the result of a machine that has counted all but the first and the last task of a
// chunk.
func (s *station) honest(chunk *queens.Chunk) queens.Result {
	r := queens.Result{Range: chunk.Range, Ticket: chunk.Ticket,
		Counted: queens.Range{First: chunk.First + 1, Tasks: chunk.Tasks - 2}}
	var hashes []uint64
	for i := range r.Counted.Tasks {
		task := queens.Task{ID: r.Counted.First + i, Board: chunk.Board, Prefixes: chunk.Prefixes[i+1]}
		hashes, r.Counts = append(hashes, task.Hash()), append(r.Counts, i)
	}
	r.Hash = queens.HashOfRange(hashes)
	return r
}

// A result is accepted if its chunk was handed out to its machine, and its tasks and prefixes are
// those of the chunk. Every other result is refused: from another machine, for another range or
// run, with other tasks or prefixes, or with too few counts.
func TestTicketsAndHashes(t *testing.T) {
	s := testStation(t)
	given := queens.Range{Tasks: 4}
	reply := s.reply(1, &core.Reply{To: queens.Process{Machine: testkit.Machine("a")},
		Chunks: []queens.Range{given}})
	chunk := &reply.Chunks[0]
	honest := s.honest(chunk)
	if err := s.check(testkit.Machine("a"), &honest); err != nil {
		t.Fatalf("an honest result is refused: %v", err)
	}
	elsewhere := newTickets(&ledger.Header{Run: "n8-a", Secret: ledger.Secret{2}})
	sameSecret := newTickets(&ledger.Header{Run: "n8-b", Secret: ledger.Secret{1}})
	for name, change := range map[string]func(r *queens.Result){
		"the ticket of another secret": func(r *queens.Result) {
			r.Ticket = elsewhere.of(testkit.Machine("a"), given)
		},
		"the ticket of another run": func(r *queens.Result) {
			r.Ticket = sameSecret.of(testkit.Machine("a"), given)
		},
		"the ticket of another user": func(r *queens.Result) {
			r.Ticket = s.tickets.of(testkit.Machine("alice/a"), given)
		},
		"the ticket of another machine": func(r *queens.Result) {
			r.Ticket = s.tickets.of(testkit.Machine("b"), given)
		},
		"a range that was not given": func(r *queens.Result) { r.Tasks++ },
		"no tasks": func(r *queens.Result) {
			r.Counted.Tasks, r.Counts, r.Hash = 0, nil, queens.HashOfRange(nil)
		},
		"tasks outside the range": func(r *queens.Result) {
			r.Range = queens.Range{Tasks: 2}
			r.Ticket = s.tickets.of(testkit.Machine("a"), r.Range)
		},
		"too few counts": func(r *queens.Result) { r.Counts = r.Counts[:1] },
		"other prefixes": func(r *queens.Result) { r.Hash++ },
		"other tasks":    func(r *queens.Result) { r.Counted.First++ },
		"tasks that the run does not have": func(r *queens.Result) {
			r.Range.First = s.header.Manifest.Tasks - 1
			r.Ticket = s.tickets.of(testkit.Machine("a"), r.Range)
		},
		"tasks of two classes": func(r *queens.Result) {
			r.Range = queens.Range{Tasks: s.header.Manifest.Classes[1].First + 1}
			r.Ticket = s.tickets.of(testkit.Machine("a"), r.Range)
		},
	} {
		r := honest
		r.Counts = slices.Clone(r.Counts)
		change(&r)
		if s.check(testkit.Machine("a"), &r) == nil {
			t.Errorf("a result with %s is accepted", name)
		}
	}
	for _, other := range []string{"b", "alice/a", "coordinator/a"} {
		if s.check(testkit.Machine(other), &honest) == nil {
			t.Errorf("a result is accepted from %s", other)
		}
	}
}

// Every bit of the secret and of what a ticket covers changes the ticket, and no two bits change it
// in the same way.
func TestTicketsNeedTheSecret(t *testing.T) {
	seen := map[queens.Ticket]string{}
	enter := func(about, machine string, secret ledger.Secret, r queens.Range) {
		ticket := newTickets(&ledger.Header{Run: "n8-a", Secret: secret}).of(testkit.Machine(machine), r)
		if other, known := seen[ticket]; known {
			t.Errorf("%s gives the ticket of %s", about, other)
		}
		seen[ticket] = about
	}
	given := queens.Range{First: 3, Tasks: 4}
	enter("nothing", "a", ledger.Secret{}, given)
	for bit := range 256 {
		var secret ledger.Secret
		secret[bit/8] = 1 << (bit % 8)
		enter(fmt.Sprint("bit of the secret ", bit), "a", secret, given)
	}
	for bit := range 64 {
		enter(fmt.Sprint("bit of the first task ", bit), "a", ledger.Secret{},
			queens.Range{First: 3 ^ 1<<bit, Tasks: 4})
		enter(fmt.Sprint("bit of the number ", bit), "a", ledger.Secret{},
			queens.Range{First: 3, Tasks: 4 ^ 1<<bit})
	}
	for _, machine := range []string{"b", "aa", "a-1", "A", "alice/a", "a/a", "coordinator/a"} {
		enter("machine "+machine, machine, ledger.Secret{}, given)
	}
}

// A ticket is proven by all its bits.
func TestTicketBits(t *testing.T) {
	s, given := testStation(t), queens.Range{Tasks: 2}
	for bit := range 8 * len(queens.Ticket{}) {
		ticket := s.tickets.of(testkit.Machine("a"), given)
		ticket[bit/8] ^= 1 << (bit % 8)
		if s.tickets.proves(testkit.Machine("a"), given, ticket) {
			t.Errorf("a ticket with another bit %d is accepted", bit)
		}
	}
}

// A chunk that a worker lists with a wrong ticket is not in Held, but in Invalid.
func TestHeldTickets(t *testing.T) {
	s := testStation(t)
	given, other := queens.Range{Tasks: 2}, queens.Range{First: 2, Tasks: 2}
	beyond := queens.Range{First: s.header.Manifest.Tasks, Tasks: 1} // no task of the run
	ticket := s.tickets.of(testkit.Machine("a"), given)
	r := s.request(queens.Process{Machine: testkit.Machine("a")},
		queens.WorkRequest{Held: []queens.Held{{Range: given, Ticket: ticket},
			{Range: other, Ticket: ticket},
			{Range: beyond, Ticket: s.tickets.of(testkit.Machine("a"), beyond)}}}, nil)
	if len(r.Held) != 1 || r.Held[0].Range != given ||
		!slices.Equal(r.Invalid, []queens.Range{other, beyond}) {
		t.Errorf("held %v, invalid %v", r.Held, r.Invalid)
	}
}
