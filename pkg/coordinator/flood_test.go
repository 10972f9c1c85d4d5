package coordinator

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

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

// floodService returns a coordinator that reads messages and does nothing with them.
func floodService(t *testing.T, log zerolog.Logger) *Coordinator {
	s := &Coordinator{jobs: newQueue[func(*station)](), mail: newPost(), start: time.Now(),
		room: semaphore.NewWeighted(room), warn: warner(log)}
	s.ctx, s.cancel = context.WithCancel(t.Context())
	return s
}

func from(i int) queens.Process {
	return queens.Process{Machine: testkit.Machine("a"), Name: fmt.Sprint(i)}
}

// Messages that arrive faster than the coordinator handles them are taken off the connection at
// once. Few are handled at a time, and fewer large ones.
func TestMessagesWait(t *testing.T) {
	for bytes, most := range map[int]int{0: room / leastRoom, bus.MaxFromWorker: room >> 20} {
		synctest.Test(t, func(t *testing.T) {
			s := floodService(t, zerolog.Nop())
			for i := range 1000 {
				s.take(bus.Message{From: from(i), Data: make([]byte, bytes)})
			}
			s.group.Go(s.read)
			synctest.Wait() // until it has no room
			handled := len(s.jobs.take(math.MaxInt))
			if handled > most || handled < most-8 {
				t.Errorf("%d messages of %d bytes are being handled", handled, bytes)
			}
			s.cancel()
			s.group.Wait()
		})
	}
}

// Messages that can't be read cause only a few log lines a minute, and leave room for other
// messages.
func TestUnreadableMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := floodService(t, zerolog.New(&log))
		s.group.Go(s.read)
		for i := range 1000 {
			s.take(bus.Message{From: from(i), Data: []byte{0xff}})
			synctest.Wait()
			jobs := s.jobs.take(math.MaxInt)
			if len(jobs) != 1 {
				t.Fatalf("message %d: %d are handled", i, len(jobs))
			}
			jobs[0](nil)
		}
		if lines := strings.Count(log.String(), "\n"); lines != warnings {
			t.Errorf("%d lines", lines)
		}
		s.cancel()
		s.group.Wait()
	})
}

// If a message has waited for two seconds, whether it was read then or not, the log says so, once a
// minute.
func TestSlowMailIsLogged(t *testing.T) {
	var log bytes.Buffer
	s := &Coordinator{Config: Config{Logger: zerolog.New(&log)}, mail: newPost()}
	const second = time.Second
	for _, step := range []struct {
		put, read, measure time.Duration // read: 0 if the message is not read
		lines              int           // so far
	}{
		{put: 1 * second, measure: 3*second - 1, lines: 0},
		{put: 3 * second, read: 4 * second, measure: 5 * second, lines: 0},
		{put: 5 * second, read: 7 * second, measure: 8 * second, lines: 1},
		{put: 60 * second, measure: 62 * second, lines: 1},
		{put: 66 * second, measure: 68*second - 1, lines: 1},
		{put: 66 * second, measure: 68 * second, lines: 2},
		{put: 129 * second, measure: 129 * second, lines: 2},
	} {
		s.mail.put(step.put, core.Message{From: from(1)})
		if step.read > 0 {
			start := time.Now().Add(-step.read)
			if _, found := s.mail.next(t.Context(), start); !found {
				t.Fatal("no message")
			}
		}
		s.measureMail(step.measure)
		if got := strings.Count(log.String(), `"message":"overload"`); got != step.lines {
			t.Errorf("%+v: %d lines: %s", step, got, log.String())
		}
	}
	if !strings.Contains(log.String(), "messages of workers wait for 2s") {
		t.Error(log.String())
	}
}
