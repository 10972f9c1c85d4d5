package coordinator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// tickets makes the tickets of a run. It is not safe for concurrent use.
type tickets struct {
	run string
	mac hash.Hash
	buf []byte
}

func newTickets(h *ledger.Header) *tickets {
	return &tickets{run: h.Run, mac: hmac.New(sha256.New, h.Secret[:])}
}

// of returns the ticket of a range for a machine of a user: the first 128 bits of HMAC-SHA256 (RFC
// 2104) under the secret of the run. Spaces end the names, and no name has a space: see
// [queens.ValidateRun] and [queens.Machine.Validate]. Package bus refuses messages with others.
func (t *tickets) of(machine queens.Machine, r queens.Range) (ticket queens.Ticket) {
	t.buf = append(append(append(t.buf[:0], "ticket "...), t.run...), ' ')
	t.buf = append(append(t.buf, machine.User...), ' ')
	t.buf = append(append(t.buf, machine.Name...), ' ')
	t.buf = binary.BigEndian.AppendUint64(t.buf, r.First)
	t.buf = binary.BigEndian.AppendUint64(t.buf, r.Tasks)
	t.mac.Reset()
	t.mac.Write(t.buf)
	copy(ticket[:], t.mac.Sum(nil))
	return ticket
}

// proves reports whether a ticket is that of a range for a machine.
func (t *tickets) proves(machine queens.Machine, r queens.Range, ticket queens.Ticket) bool {
	want := t.of(machine, r)
	return hmac.Equal(want[:], ticket[:])
}
