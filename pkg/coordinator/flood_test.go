package coordinator

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

func from(i int) queens.Process {
	return queens.Process{Machine: testkit.Machine("b"), Name: fmt.Sprint(i)}
}

// delivery encodes a delivery of a count that nobody has asked for.
func delivery(t *testing.T) []byte {
	data, err := bus.EncodeDelivery(&queens.Delivery{Results: []queens.Result{
		{Range: queens.Range{Tasks: 1}, Counts: []uint64{1}, Kernel: "generic"}}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// noReply takes the reply to a message of which the test wants none.
func noReply([]byte) error { return nil }

// Messages that arrive faster than the coordinator handles them are taken off the connection at
// once. Few are handled at a time, and fewer large ones.
func TestMessagesWait(t *testing.T) {
	small := request(t, queens.WorkRequest{Number: 1})
	large := request(t, queens.WorkRequest{Number: 1, Held: slices.Repeat(
		[]queens.Held{{Range: queens.Range{Tasks: 1}}}, bus.MaxFromWorker/22-4)})
	if len(large) < bus.MaxFromWorker*9/10 {
		t.Fatalf("the large request has %d bytes", len(large))
	}
	for _, test := range []struct {
		data []byte
		most int
	}{{small, room / leastRoom}, {delivery(t), room / leastRoom}, {large, room / len(large)}} {
		synctest.Test(t, func(t *testing.T) {
			s := newService(t, zerolog.Nop()) // its loop does not run, so nothing is handled to the end
			for i := range 1000 {
				s.wire.serve(bus.Message{From: from(i), Data: test.data, Reply: noReply})
			}
			synctest.Wait() // until it has no room
			handled := len(s.inputs.take(math.MaxInt))
			if handled > test.most || handled < test.most-8 {
				t.Errorf("%d messages of %d bytes are being handled", handled, len(test.data))
			}
			s.close()
		})
	}
}

// Every message that was handled leaves its room to others, whether it can be read or not. Messages
// that can't be read cause only a few log lines a minute.
func TestRoomIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newService(t, zerolog.New(&log))
		s.start()
		for about, data := range map[string][]byte{
			"unreadable": {0xff}, "requests": request(t, queens.WorkRequest{Number: 1}),
			"deliveries": delivery(t),
		} {
			for i := range 2 * room / leastRoom {
				s.wire.serve(bus.Message{From: from(i), Data: data, Reply: noReply})
				synctest.Wait()
			}
			replies := s.send(0)
			synctest.Wait()
			if len(replies) == 0 {
				t.Fatalf("%s: no room is left", about)
			}
		}
		if lines := strings.Count(log.String(), "can't be read"); lines != warnings {
			t.Errorf("%d lines", lines)
		}
		s.stop()
		s.disk.next(nil) // the mark
		<-s.ended
		s.close()
	})
}

// A worker whose messages are dropped unread is not silent.
func TestUnreadIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t)
		s.ask(1)
		jam := make(chan struct{})
		for i := range runtime.GOMAXPROCS(0) { // no goroutine is left that could handle a message
			s.wire.serve(bus.Message{From: from(i),
				Data: request(t, queens.WorkRequest{Number: 1, Leaving: true}),
				Reply: func([]byte) error {
					<-jam
					return nil
				}})
		}
		synctest.Wait()
		for i := range room / leastRoom { // no room is left for another message
			s.wire.serve(bus.Message{From: from(1000 + i),
				Data: request(t, queens.WorkRequest{Number: 1}), Reply: noReply})
		}
		for range 15 { // the core hears of none of these
			s.send(1)
			time.Sleep(2 * time.Second)
		}
		isHere := slices.ContainsFunc(s.latest.Load().WorkerList, func(w queens.Worker) bool {
			return w.Machine == process.Machine && w.LastSeen.Duration < 3*time.Second
		})
		if !isHere {
			t.Errorf("the worker is silent: %+v", s.latest.Load().WorkerList)
		}
		close(jam)
		s.stop()
		s.disk.next(nil) // the mark
		<-s.ended
		s.close()
	})
}
