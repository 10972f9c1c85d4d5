package coordinator

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/queens"
)

// Workers hear at once that the run is there. The worker of this process does too, whenever it
// begins to listen.
func TestAnnouncedAtOnce(t *testing.T) {
	for _, listensFirst := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newService(t, zerolog.Nop())
			var heard queens.Announcement
			if !listensFirst {
				s.start()
				synctest.Wait()
			}
			stop, err := s.c.Local().Announcements(func(a queens.Announcement) { heard = a })
			if err != nil {
				t.Fatal(err)
			}
			if listensFirst {
				s.start()
				synctest.Wait()
			}
			if n := s.wire.announced.Load(); n != 1 || heard.Run != s.at.header.Run || !heard.Work {
				t.Errorf("announced %d times; the own worker heard %+v", n, heard)
			}
			stop()
			heard = queens.Announcement{}
			s.finish()
			if heard.Run != "" {
				t.Errorf("a worker that has left hears %+v", heard)
			}
		})
	}
}

// A coordinator ends if another one of its run has more results. Its own announcements and those of
// other runs mean nothing.
func TestOtherCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t)
		ahead := queens.Announcement{
			Run: s.at.header.Run, Instance: 2, State: queens.Running, Recorded: 9,
		}
		own, other := ahead, ahead
		own.Instance, other.Run = 1, "n9-b"
		s.wire.hear(own)
		s.wire.hear(other)
		synctest.Wait()
		if len(s.ended) > 0 {
			t.Fatalf("ended with %v", <-s.ended)
		}
		s.wire.hear(ahead)
		s.disk.next(nil) // the mark
		if err := <-s.ended; !errors.Is(err, queens.ErrIncomplete) {
			t.Errorf("ended with %v", err)
		}
		s.close()
	})
}

// While there is no connection, snapshots say why.
func TestNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t)
		s.wire.problem.Store("no route to host")
		time.Sleep(2 * snapshotInterval)
		waits := s.latest.Load().Waits
		if waits == nil || waits.Reason != queens.NoServer || waits.Why != "no route to host" {
			t.Errorf("the run waits for %+v", waits)
		}
		s.finish()
	})
}

// If messages can't be heard, Start returns the reason, and leaves no goroutine behind.
func TestStartFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("no permission")
		s := &service{t: t, at: testStation(t), disk: &disk{}, wire: wire{refuses: refused}}
		if _, err := Start(s.config(zerolog.Nop())); !errors.Is(err, refused) {
			t.Errorf("error %v", err)
		}
	})
}
