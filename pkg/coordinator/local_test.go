package coordinator

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// The worker of the coordinator's process gets replies and receipts without a server.
func TestLocal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t)
		own := queens.Process{Machine: testkit.Machine("coordinator/home"), Name: "p"}
		reply, err := s.c.Local().RequestWork(t.Context(), "", own,
			&queens.WorkRequest{Number: 1, Want: 1, Threads: 1, Searchers: 1})
		if err != nil || len(reply.Chunks) != 1 {
			t.Fatalf("reply %+v, error %v", reply, err)
		}
		receipts, err := s.c.Local().Deliver(t.Context(), "", own,
			&queens.Delivery{Results: []queens.Result{{Range: reply.Chunks[0].Range}}})
		if err != nil || len(receipts.Receipts) != 1 || receipts.Receipts[0].Recorded {
			t.Errorf("receipts %+v, error %v", receipts, err)
		}
		s.finish()
	})
}

// The worker of the coordinator's process gets an error if there is no reply within 7 s, and at
// once when the coordinator is closed.
func TestLocalWithoutReply(t *testing.T) {
	for _, closes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newService(t, zerolog.Nop()) // its loop does not run
			begin, want := time.Now(), queens.LongestReply
			if closes {
				want = time.Second
				time.AfterFunc(want, s.close)
			}
			_, err := s.c.Local().RequestWork(t.Context(), "", process,
				&queens.WorkRequest{Number: 1, Threads: 1, Searchers: 1})
			if took := time.Since(begin); !errors.Is(err, errNoReply) || took != want {
				t.Errorf("error %v after %v, closed %v", err, took, closes)
			}
			s.close()
			if _, _, err := s.c.Workers(t.Context(), 0); !errors.Is(err, errClosed) {
				t.Errorf("a closed coordinator lists its workers with error %v", err)
			}
		})
	}
}
