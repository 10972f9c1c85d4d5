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
	"nqueens/pkg/coordinator/core"
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

// largeRequest encodes about as large a request as there may be.
func largeRequest(t *testing.T) []byte {
	large := request(t, queens.WorkRequest{Number: 1, Held: slices.Repeat(
		[]queens.Held{{Range: queens.Range{Tasks: 1}}}, bus.MaxFromWorker/22-4)})
	if len(large) < bus.MaxFromWorker*9/10 {
		t.Fatalf("the large request has %d bytes", len(large))
	}
	return large
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
	small, large := request(t, queens.WorkRequest{Number: 1}), largeRequest(t)
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
			handled := len(s.c.inputs.take(math.MaxInt))
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
		s.finish()
	})
}

// When more messages come than the coordinator can handle, it drops old ones, also of one process
// in favor of its newer ones, but none of another kind. Snapshots show how long messages wait, and
// a line a minute says so. A worker whose messages are dropped is not silent.
func TestOverloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newService(t, zerolog.New(&log))
		s.start()
		s.ask(1)
		resume := jam(s)
		for range 50 { // the core hears of none of these
			s.send(1)
			time.Sleep(2 * time.Second)
		}
		last := s.latest.Load()
		if !slices.ContainsFunc(last.WorkerList, func(w queens.Worker) bool {
			return w.Machine == process.Machine && w.LastSeen.Duration < 3*time.Second
		}) {
			t.Errorf("the worker is silent: %+v", last.WorkerList)
		}
		if wait := last.Queue.Duration; wait < time.Second || wait > queens.LongestReply {
			t.Errorf("messages wait for %v", wait)
		}
		large := largeRequest(t)
		for i := range 2 * core.MaxMailbox / len(large) {
			s.wire.serve(bus.Message{From: from(i), Data: large, Reply: noReply})
		}
		time.Sleep(2 * snapshotInterval)
		if n := s.latest.Load().Dropped - last.Dropped; n < core.MaxMailbox/uint64(len(large)) {
			t.Errorf("%d large messages are dropped", n)
		}
		receipts := make(chan []byte, 1)
		replies := s.send(0)
		s.wire.serve(bus.Message{From: process, Data: delivery(t), Reply: func(data []byte) error {
			receipts <- data
			return nil
		}})
		resume()
		synctest.Wait()
		if len(replies) != 1 || len(receipts) != 1 {
			t.Errorf("%d replies to a request, and %d to a delivery", len(replies), len(receipts))
		}
		time.Sleep(3 * snapshotInterval)
		if wait := s.latest.Load().Queue.Duration; wait != 0 {
			t.Errorf("messages wait for %v when all are read", wait)
		}
		if lines := strings.Count(log.String(), `"overload"`); lines != 2 {
			t.Errorf("%d lines say in 105 s that messages wait", lines)
		}
		s.finish()
	})
}

// jam keeps all goroutines that handle messages busy until resume is called, and then lets so many
// messages come that there is no room for another one.
func jam(s *service) (resume func()) {
	busy := make(chan struct{})
	for i := range runtime.GOMAXPROCS(0) {
		s.wire.serve(bus.Message{From: from(i),
			Data: request(s.t, queens.WorkRequest{Number: 1, Leaving: true}),
			Reply: func([]byte) error {
				<-busy
				return nil
			}})
	}
	synctest.Wait()
	for i := range room / leastRoom {
		s.wire.serve(bus.Message{From: from(1000 + i),
			Data: request(s.t, queens.WorkRequest{Number: 1}), Reply: noReply})
	}
	synctest.Wait()
	return func() { close(busy) }
}

// A queue with items wakes another goroutine that takes some of them.
func TestQueue(t *testing.T) {
	q := newQueue[int]()
	for i := range 3 {
		q.put(i)
	}
	for i := range 3 {
		if len(q.ready) != 1 {
			t.Fatalf("nobody takes item %d", i)
		}
		<-q.ready
		if items := q.take(1); !slices.Equal(items, []int{i}) {
			t.Errorf("took %v, not %d", items, i)
		}
	}
	if len(q.ready) > 0 {
		t.Error("an empty queue wakes a goroutine")
	}
}
