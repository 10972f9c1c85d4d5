package coordinator

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// A stranger with the token who counts nothing can't make the memory of the coordinator grow without a limit.

// If a request lists a range several times, the range counts once.
func TestRangesAreListedOnce(t *testing.T) {
	s := testStation(t)
	given, other := queens.Range{Tasks: 2}, queens.Range{First: 2, Tasks: 2}
	held, forged := queens.Held{Range: given, Ticket: s.tickets.of("a", given)}, queens.Held{Range: other}
	r := s.request(queens.Process{Machine: "a"}, queens.WorkRequest{Held: []queens.Held{held, forged, held, forged, held}}, nil)
	if len(r.Held) != 1 || len(r.Invalid) != 1 {
		t.Errorf("%d held, %d invalid", len(r.Held), len(r.Invalid))
	}
}

// A machine has one ticket, and lists the ticket's range in the names of ever more processes. At most mostHolders of them hold
// the range, and at most mostWorkers are remembered.
func TestManyNames(t *testing.T) {
	h := &ledger.Header{Format: ledger.Format, Run: "flood", Redundancy: 1, Manifest: testManifest(20, []uint64{8})}
	c := New(0, ledger.NewState(h), Options{Instance: 1, Version: "v", Machine: "home", Kernels: []string{generic}, Shares: testShares(&h.Manifest), TaskBytes: []int{100}, ReplyBytes: 1 << 20})
	list := queens.WorkRequest{Number: 1, Threads: 1, Searchers: 1, Held: []queens.Held{{Range: queens.Range{Tasks: 8}}}}
	for i := range mostWorkers + 10 {
		c.WorkRequested(time.Second, &Request{From: queens.Process{Machine: "a", Name: fmt.Sprint(i)}, WorkRequest: list})
		c.Take()
	}
	if n := len(c.queue.holders[7]); n > mostHolders {
		t.Errorf("%d processes hold a task", n)
	}
	if n := len(c.fleet.workers); n > mostWorkers {
		t.Errorf("%d processes are remembered", n)
	}
	late := queens.Process{Machine: "b", Name: "late"}
	list.Held, list.Want = nil, 1
	c.WorkRequested(20*time.Second, &Request{From: late, WorkRequest: list})
	c.Tick(100 * time.Second)
	c.WorkRequested(100*time.Second, &Request{From: late, WorkRequest: list})
	if w := c.fleet.workers[late]; w != nil {
		t.Error("there is room before the others are silent")
	}
	for now := 100 * time.Second; now <= 140*time.Second; now += time.Second {
		c.Tick(now)
	}
	c.WorkRequested(140*time.Second, &Request{From: late, WorkRequest: list})
	if w := c.fleet.workers[late]; w == nil || !w.present || len(c.queue.holds[late]) == 0 {
		t.Error("no room when the others are silent")
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

// Messages that can't be read cause only a few log lines a minute, and leave room for other messages.
func TestUnreadableMessages(t *testing.T) {
	var log bytes.Buffer
	s := &Coordinator{jobs: newMailbox[func(*station)](), room: make(chan struct{}, mostMessages), warn: warner(zerolog.New(&log))}
	s.ctx = t.Context()
	for range 10 * mostMessages {
		s.take(bus.Message{Data: []byte{0xff}})
		for _, job := range s.jobs.take(math.MaxInt) {
			job(nil)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines == 0 || lines > 2*warnings { // a new minute may begin during the test
		t.Errorf("%d lines", lines)
	}
}
