package coordinator

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// A stranger with the token who counts nothing can't make the memory of the coordinator grow
// without a limit.

// If a request lists a range several times, the range counts once.
func TestRangesAreListedOnce(t *testing.T) {
	s := testStation(t)
	given, other := queens.Range{Tasks: 2}, queens.Range{First: 2, Tasks: 2}
	held, forged := queens.Held{Range: given, Ticket: s.tickets.of(testkit.Machine("a"), given)},
		queens.Held{Range: other}
	r := s.request(queens.Process{Machine: testkit.Machine("a")},
		queens.WorkRequest{Held: []queens.Held{held, forged, held, forged, held}}, nil)
	if len(r.Held) != 1 || len(r.Invalid) != 1 {
		t.Errorf("%d held, %d invalid", len(r.Held), len(r.Invalid))
	}
}

// Messages that arrive faster than the coordinator handles them wait in the connection.
func TestMessagesWait(t *testing.T) {
	s := &Coordinator{jobs: newMailbox[func(*station)](), room: make(chan struct{}, mostMessages)}
	s.ctx, s.cancel = context.WithCancel(t.Context())
	for range mostMessages {
		s.take(bus.Message{})
	}
	s.cancel() // without it, the next take would wait
	s.take(bus.Message{})
	if n := len(s.jobs.take(math.MaxInt)); n != mostMessages {
		t.Errorf("%d messages are being handled", n)
	}
}

// Messages that can't be read cause only a few log lines a minute, and leave room for other
// messages.
func TestUnreadableMessages(t *testing.T) {
	var log bytes.Buffer
	s := &Coordinator{jobs: newMailbox[func(*station)](), room: make(chan struct{}, mostMessages),
		warn: warner(zerolog.New(&log))}
	s.ctx = t.Context()
	for range 10 * mostMessages {
		s.take(bus.Message{Data: []byte{0xff}})
		for _, job := range s.jobs.take(math.MaxInt) {
			job(nil)
		}
	}
	// a new minute may begin during the test
	if lines := strings.Count(log.String(), "\n"); lines == 0 || lines > 2*warnings {
		t.Errorf("%d lines", lines)
	}
}
